/** What templates make of their models: everything is escaped, nothing is missing, and the ids are where they belong. */
import type { FastifyReply } from 'fastify'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { PageRegistry } from '../../../plugins/pages/registry.ts'
import { temporaryDirectory } from '../../support/cleanup.ts'
import { samples } from './samples.ts'
import { startPages } from './server.ts'
import { rowsWith } from '../../support/left-out.ts'

type Path = readonly string[]

const PAYLOAD = `"'><canary onerror=x>&amp;`
const server = await startPages()

/** Every text of a model becomes hostile; what must be an address stays one, and the name of a template is nobody's to give. */
function poisoned(value: unknown): unknown {
  if (typeof value === 'string') return /^(?:https?:\/)?\//.test(value) ? value + PAYLOAD : PAYLOAD
  if (Array.isArray(value)) return value.map(poisoned)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, name === 'part' ? inner : poisoned(inner)]),
  )
}

/** The members of a model, and of what is in it. */
function paths(value: unknown, above: Path = []): Path[] {
  if (typeof value !== 'object' || value === null || value instanceof Date) return []
  return Object.entries(value).flatMap(([name, inner]) => [
    [...above, name],
    ...paths(inner, [...above, name]),
  ])
}

function without<T extends object>(model: T, path: Path): T {
  const copy = structuredClone(model)
  let holder: unknown = copy
  for (const name of path.slice(0, -1)) holder = Reflect.get(holder as object, name)
  Reflect.set(holder as object, path.at(-1)!, undefined)
  return copy
}

/** Templates that are not taken. */
const SOURCES: Readonly<Record<string, string>> = {
  raw: '<% title("x") %><%~ model.x %>',
  direct: '<% title("x"); output(model.x) %>',
  behind: '<% title("x"); __eta.res += model.x %>',
  broken: '<% title( %>',
  login: '<% title("x") %>',
  layout: '<% title("x") %>',
  '../secret': '<% title("x") %>',
}

const count = (html: string, pattern: RegExp): number => html.match(new RegExp(pattern, 'g'))?.length ?? 0

describe.each(samples)('$name, $state', ({ name, model }) => {
  test('is a document with one heading, one main part, and ids that occur once', async () => {
    const { status, html } = await server.show(name, model)
    expect(status).toBe(200)
    expect(html).toMatch(/^<!doctype html>\n<html lang="en">/)
    expect([count(html, /<h1>/), count(html, /<main[ >]/), count(html, /<title>/)]).toEqual([1, 1, 1])
    const ids = [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id)
    expect(ids).toEqual([...new Set(ids)])
    expect(html).not.toMatch(
      / style=|<style|javascript:|<script(?! src="\/assets\/)| on[a-z]+=|undefined|\[object/,
    )
  })

  test('prints hostile values as text', async () => {
    const hostile = poisoned(model) as object
    const { status, html } = await server.show(name, hostile)
    expect(status).toBe(200)
    expect(html).not.toContain('<canary')
    expect(html).not.toContain(`"'>`)
    // One that is given no text prints none.
    const isGiven = JSON.stringify(hostile).includes('canary')
    expect(count(html, /&quot;&#39;&gt;&lt;canary onerror=x&gt;&amp;amp;/) > 0).toBe(isGiven)
  })
})

test('names of hidden fields are text too', async () => {
  const { html } = await server.show('form-post', { action: '/', fields: { [PAYLOAD]: PAYLOAD } })
  expect(html).not.toContain('<canary')
})

/** The ids that others rely on, by the page that has them. */
const IDS: Readonly<Record<string, readonly string[]>> = {
  login: [
    'login',
    'username',
    'password',
    'sign-in',
    'client-logo',
    'client-policy',
    'client-tos',
    'login-error',
  ],
  consent: ['consent', 'allow', 'deny'],
  ...rowsWith('latchkey-sign-up', { 'sign-up-form': ['create-account'] }),
  error: ['error', 'error-code'],
  'sign-out': ['sign-out'],
  'signed-out': ['signed-out'],
  'signing-out': ['go-on'],
}

/** A page for a new password has them too: password managers know by them whose it is. */
const OF_NEW_PASSWORDS = new Set(['username', 'password'])
const TAKE_NEW_PASSWORDS = new Set(['new-password', 'sign-up-form', 'sign-up-confirm'])

test('the promised ids are each on one kind of page', async () => {
  const homes = new Map<string, Set<string>>()
  for (const { name, model } of samples) {
    const { html } = await server.show(name, model)
    for (const [, id = ''] of html.matchAll(/ id="([^"]*)"/g))
      if (!TAKE_NEW_PASSWORDS.has(name) || !OF_NEW_PASSWORDS.has(id))
        homes.set(id, (homes.get(id) ?? new Set()).add(name))
  }
  for (const [home, ids] of Object.entries(IDS)) {
    const found = ids.map((id) => [id, ...(homes.get(id) ?? [])])
    expect(found).toEqual(ids.map((id) => [id, home]))
  }
})

/** Members of the common models that a page has no place for. */
const UNUSED: Readonly<Record<string, readonly string[]>> = {
  login: ['client.homeUri'],
  consent: ['client.host'],
  'sign-out': ['client.host', 'client.logoUri', 'client.policyUri', 'client.tosUri'],
}

test.each([...new Set(samples.map(({ name }) => name))])(
  '%s without one of its values is an error',
  async (name) => {
    const noticed = new Map<string, boolean>()
    for (const { model } of samples.filter((sample) => sample.name === name)) {
      for (const path of paths(model)) {
        const { status, html } = await server.show(name, without(model, path))
        const dotted = path.filter((one) => !/^\d+$/.test(one)).join('.')
        noticed.set(dotted, noticed.get(dotted) === true || status === 500)
        expect(html).not.toContain('undefined')
      }
    }
    const unnoticed = [...noticed].filter(([, found]) => !found).map(([path]) => path)
    expect(unnoticed.toSorted()).toEqual(UNUSED[name] ?? [])
  },
)

test('the log says which value was missing, the answer does not', async () => {
  const { model } = samples.find(({ name }) => name === 'login')!
  const { html } = await server.show('login', without(model, ['client', 'name']))
  expect(JSON.parse(html)).toMatchObject({ error: 'server_error' })
  expect(html).not.toContain('client.name')
  expect(server.output()).toContain('login.client.name is missing')
})

test('an address that would run in the page is refused', async () => {
  for (const homeUri of ['javascript:alert(1)', 'data:text/html,x', '//evil.example', 'evil'])
    expect(await server.show('signed-out', { homeUri, apps: [], frames: [] })).toMatchObject({ status: 500 })
})

test('a page that nobody added is an error', async () => {
  expect(await server.show('no-such-page', {})).toMatchObject({ status: 500 })
})

test('types: a wrong name, a missing member and a wrong member do not compile', () => {
  const show = (reply: { page: FastifyReply['page'] }) => {
    // @ts-expect-error -- no such page
    reply.page('log-in', {})
    // @ts-expect-error -- the model lacks homeUri
    reply.page('signed-out', {})
    // @ts-expect-error -- homeUri is a text
    reply.page('signed-out', { homeUri: 1, apps: [], frames: [] })
    reply.page('signed-out', { homeUri: '/', apps: [], frames: [] }, { status: 200 })
  }
  expect(show).toBeTypeOf('function')
})

describe('a page of another plugin', async () => {
  const directory = await temporaryDirectory()
  async function add(pages: PageRegistry, name: string, source: string): Promise<void> {
    const file = join(directory, `${encodeURIComponent(name)}.eta`)
    await writeFile(file, source)
    await pages.add(name as never, pathToFileURL(file))
  }
  const refused: Record<string, string> = {}
  const own = await startPages({}, async ({ pages }) => {
    await add(pages, 'acme-hi', `<% title('Hi ' + model.who) %><h1>Hi <%= model.who %></h1>`)
    await add(pages, 'acme-one', '<li><%= model.who %></li>')
    await add(pages, 'acme-all', `<% title('All') %><% for (const one of model.all) part('acme-one', one) %>`)
    await add(pages, 'without-title', '<h1>x</h1>')
    await add(pages, 'prints-object', '<% title("x") %><%= model %>')
    await add(pages, 'prints-null', '<% title("x") %><%= null %>')
    for (const [name, source] of Object.entries(SOURCES))
      await add(pages, name, source).catch((error: Error) => (refused[name] = error.message))
  })

  test('stands in the layout, escaped and strict like ours', async () => {
    const { html } = await own.show('acme-hi', { who: PAYLOAD })
    expect(html).toContain('<title>Hi &quot;')
    expect(html).toMatch(/<link rel="stylesheet" href="\/assets\/style\.[0-9a-f]{12}\.css">/)
    expect(html).not.toContain('<canary')
    expect(await own.show('acme-hi', {})).toMatchObject({ status: 500 })
  })

  test('is made of parts, each escaped and strict in its own model', async () => {
    const { html } = await own.show('acme-all', { all: [{ who: 'Ada' }, { who: '<b>' }] })
    expect(html).toContain('<li>Ada</li><li>&lt;b&gt;</li>')
    expect(html.match(/<!doctype html>/g)).toHaveLength(1)
    expect(await own.show('acme-all', { all: [{ who: 'Ada' }, {}] })).toMatchObject({ status: 500 })
  })

  test('is refused at the start, by its name, when it would print raw, does not compile, or is not its to add', () => {
    expect(refused).toEqual({
      raw: 'The template raw prints without escaping.',
      direct: 'The template direct prints without escaping.',
      behind: 'The template behind prints without escaping.',
      broken: 'The template broken does not compile.',
      login: 'The page login is registered twice.',
      layout: 'The page layout is registered twice.',
      '../secret': 'The page ../secret needs a name of small letters, digits and hyphens.',
    })
  })

  test('is refused once the server is ready', async () => {
    await expect(add(own.server.pages, 'late', '<% title("x") %>')).rejects.toThrow(
      'before the server is ready',
    )
  })

  test.each(['without-title', 'prints-object', 'prints-null'])('is an error: %s', async (name) => {
    expect(await own.show(name, {})).toMatchObject({ status: 500 })
  })
})
