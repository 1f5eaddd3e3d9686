/**
 * What the certification suite's browser needs of our pages. It is HtmlUnit: it finds things by their ids, submits the
 * form of one page at a time, and knows a JavaScript of long ago.
 */
import { expect, test } from 'vitest'
import { createUserAgent, findForm, type Page } from '../support/user-agent.ts'
import { addressOf, authenticationRequest } from './relying-party.ts'
import { CALLBACK, PERSON, startSuite } from './suite.ts'

const { username, password } = PERSON

/** How often an id stands on a page, and in which tag. */
function tagsWithId({ body }: Page, id: string): string[] {
  return [...body.matchAll(new RegExp(`<([a-z]+)[^>]*\\sid="${id}"`, 'g'))].map(([, tag]) => tag!)
}

function formOf({ body }: Page, id: string): string {
  return new RegExp(`<form[^>]*\\sid="${id}"[^>]*>([\\s\\S]*?)</form>`).exec(body)?.[1] ?? ''
}

const suites = { query: await startSuite(), form_post: await startSuite('form_post') }

test.for(['query', 'form_post'] as const)('by ids, with no page between: %s', async (responseMode) => {
  const suite = suites[responseMode]
  const agent = createUserAgent(suite.server.url)
  const login = await agent.get(addressOf(suite, authenticationRequest(suite)))
  expect(login.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(['login', 'username', 'password', 'sign-in'].map((id) => tagsWithId(login, id))).toEqual([
    ['form'], ['input'], ['input'], ['button'],
  ]) // prettier-ignore
  expect(formOf(login, 'login')).toMatch(/<input id="username" name="username"/)
  expect(formOf(login, 'login')).toMatch(/<input id="password" name="password" type="password"/)
  expect(formOf(login, 'login')).toMatch(/<button [^>]*id="sign-in" type="submit"/)

  const consent = await agent.submit(login, 'login', { username, password })
  expect(['consent', 'allow', 'deny'].map((id) => tagsWithId(consent, id))).toEqual([
    ['form'], ['button'], ['button'],
  ]) // prettier-ignore
  expect(formOf(consent, 'consent')).toMatch(/id="allow" type="submit" name="decision" value="allow"/)
  for (const page of [login, consent]) {
    // Nothing that only works with a script: the form is there, whole, and nothing covers or replaces it.
    expect(page.body).not.toMatch(/<(dialog|template|iframe|form[^>]*\shidden)|\son[a-z]+=/)
  }

  const back = await agent.submit(consent, 'consent', { decision: 'allow' })
  await expectAnswer[responseMode](back)
})

const expectAnswer = {
  async query({ headers }: Page): Promise<void> {
    expect(headers.get('location')).toMatch(`${CALLBACK}?code=`)
  },
  form_post: expectSubmitsItself,
}

/** By one script of a file, in ECMAScript 3, since the form is otherwise stuck where nobody presses its button. */
async function expectSubmitsItself(page: Page): Promise<void> {
  expect(findForm(page, 'form-post')!.action).toBe(CALLBACK)
  // A field of this name would hide the method that sends the form.
  expect(formOf(page, 'form-post')).not.toMatch(/(name|id)="submit"/)
  const scripts = [...page.body.matchAll(/<script([^>]*)>([\s\S]*?)<\/script>/g)]
  expect(scripts.map(([, , inline]) => inline)).toEqual([''])
  const [, src] = / src="([^"]+)"/.exec(scripts[0]![1]!) ?? []
  const script = await fetch(new URL(src!, page.url))
  expect(script.headers.get('content-type')).toMatch(/^text\/javascript/)
  const code = (await script.text()).replaceAll(/^\s*\/\/.*$/gm, '')
  expect(code).toContain("document.getElementById('form-post').submit()")
  expect(code).not.toMatch(/=>|`|\?\.|\?\?|\.\.\.|\b(?:const|let|class|async|await|import|of)\b/)
}
