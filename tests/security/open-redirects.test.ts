/** Where people go after a page of ours is a place of ours: every parameter of the account's pages that says where, with addresses of others. */
import { describe, expect, test } from 'vitest'
import { linkIn, openMailbox } from '../support/mailbox.ts'
import { startServer } from '../support/server.ts'
import { ALICE, SEED } from '../support/sign-in.ts'
import { createUserAgent, type Page, type UserAgent } from '../support/user-agent.ts'
import { signedIn } from '../plugins/account/owner.ts'
import { isThere } from '../support/left-out.ts'

const server = await startServer({ OIDC_SIGN_UP: 'on', TRUSTED_PROXIES: '127.0.0.1' }, { seed: SEED })
const mailbox = openMailbox(server)
const PLACES = ['https://evil.example', '//evil.example/x', '/\\evil.example', '\\\\evil.example', '\t//evil.example', '/\t/evil.example', '/\r\n/evil.example', 'https:evil.example', 'https:/evil.example', `${server.url}@evil.example`, `${server.url}.evil.example/`, '/..//evil.example', '/.//evil.example', 'javascript:alert(1)//evil.example', 'data:text/html,evil.example'] // prettier-ignore
let count = 0

const newAgent = (): UserAgent =>
  createUserAgent(server.url, { 'x-forwarded-for': `198.51.100.${++count % 250}` })

function leadsAway(to: string): boolean {
  const url = URL.parse(to, server.url)
  return url !== null && (/^(?:javascript|data):/.test(url.protocol) || url.hostname.includes('evil'))
}

/** Neither did a redirect lead away, nor does a link, a form or a refresh. */
function expectHere(page: Page): void {
  const led = [page.headers.get('location'), page.headers.get('refresh'), page.url]
  const linked = [...page.body.matchAll(/(?:href|action|src|content)="([^"]*)"/g)].map(([, to]) => to!.replaceAll('&amp;', '&'))
  const away = [...led, ...linked].filter((to) => to !== null && leadsAway(to))
  expect(away).toEqual([])
} // prettier-ignore

describe.each(PLACES)('%j', (place) => {
  const asked = (name: string, path: string) =>
    `${server.url}${path}?${new URLSearchParams({ [name]: place }).toString()}`

  test('after the sign-in, and for who is signed in', async () => {
    const agent = newAgent()
    const page = await agent.get(asked('return_to', '/sign-in'))
    expectHere(page)
    const { username, password } = ALICE
    expectHere(await agent.submit(page, 'login', { username, password }))
    expectHere(await (await signedIn(server)).get(asked('return_to', '/sign-in')))
  })

  test.runIf(isThere('latchkey-forgot-password'))('after a forgotten password', async () => {
    const agent = newAgent()
    const page = await agent.get(asked('continue', '/forgot-password'))
    expectHere(page)
    const email = `nobody-${count}@example.com`
    expectHere(await agent.submit(page, 'forgot-password', { email, continue: place }))
    expectHere(await agent.get(`${asked('continue', '/forgot-password')}&sent=yes`))
  })

  test.runIf(isThere('latchkey-sign-up'))('after a sign-up, and its link', async () => {
    const agent = newAgent()
    const page = await agent.get(asked('continue', '/sign-up'))
    expectHere(page)
    const username = `newcomer-${count}`
    const email = `${username}@example.com`
    const fields = { username, email, password: 'a password of their own', continue: place }
    expectHere(await agent.submit(page, 'sign-up', fields))
    const confirm = await agent.get(linkIn(await mailbox.next(email)))
    expectHere(confirm)
    expectHere(await agent.submit(confirm, 'confirm'))
  })

  test('after the sign-out', async () => {
    const agent = await signedIn(server)
    const page = await agent.get(asked('post_logout_redirect_uri', '/end-session'))
    expectHere(page)
  })
})
