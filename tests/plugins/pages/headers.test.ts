/** The headers that pages carry, by kind, and their stylesheet, scripts and mark. */
import { readdir, readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { policySource } from '../../../plugins/pages/headers.ts'
import { samples } from './samples.ts'
import { startPages, type PageServer } from './server.ts'
import { isThere } from '../../support/left-out.ts'

const INTERACTIONS = new Set([
  'login', 'mail-code-address', 'mail-code', 'consent', 'sign-out', 'signed-out', 'signing-out', 'form-post', 'keep-account',
]) // prettier-ignore
const server = await startPages()
const secure = await startPages({
  NODE_ENV: 'production',
  OIDC_ISSUER: 'https://id.example/sign/in',
  SMTP_URL: 'smtp://127.0.0.1:1',
  MAIL_FROM: 'login@id.example',
})

/** The directives of a page's policy, by name. */
async function policy(name: string, state: string): Promise<Record<string, string>> {
  const response = await server.get(`/sample/${name}/${state}`)
  const header = response.headers.get('content-security-policy') ?? ''
  return Object.fromEntries(
    header.split('; ').map((one) => [one.split(' ')[0], one.split(' ').slice(1).join(' ')]),
  )
}

const STRICT = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self'",
  'font-src': "'self'",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'frame-ancestors': "'none'",
  'require-trusted-types-for': "'script'",
}

test.each(samples)(
  '$name, $state, is not stored, framed, sniffed or scripted by others',
  async ({ name, state }) => {
    const { headers } = await server.get(`/sample/${name}/${state}`)
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': name === 'form-post' ? 'strict-origin' : 'same-origin',
      'cross-origin-opener-policy': INTERACTIONS.has(name) ? 'unsafe-none' : 'same-origin',
      'permissions-policy': expect.stringContaining('camera=()'),
    })
    expect(headers.has('strict-transport-security')).toBe(false)
    expect(await policy(name, state)).toMatchObject({
      ...STRICT,
      'img-src': expect.stringMatching(/^'self'/),
    })
  },
)

test('forms of pages on the way to a client may lead there by redirect; all others only to us', async () => {
  for (const name of ['login', 'sign-out', 'form-post']) expect(await policy(name, 'plain')).toEqual(STRICT)
  for (const [name, state] of [
    ['setup', 'plain'],
    ['home', 'signed-in'],
    ['error', 'request'],
  ] as const)
    expect(await policy(name, state)).toEqual({ ...STRICT, 'form-action': "'self'" })
})

test('a logo adds its origin to the images, and nothing else', async () => {
  for (const [name, state] of [
    ['login', 'registered'],
    ['consent', 'new'],
  ] as const)
    expect(await policy(name, state)).toEqual({ ...STRICT, 'img-src': "'self' https://prints.example" })
})

test('frames add their origins, and nothing else', async () => {
  for (const name of ['signed-out', 'signing-out'])
    expect(await policy(name, 'told')).toEqual({
      ...STRICT,
      'frame-src': 'https://prints.example http://127.0.0.1:9',
    })
})

test('where the issuer is https, browsers are told to stay there', async () => {
  const { headers } = await secure.server.inject('/sample/login/plain')
  expect(headers['strict-transport-security']).toBe('max-age=63072000')
})

test('a production start shows no mark of development', async () => {
  const bodies = await Promise.all(
    [server, secure].map(async (one) => (await one.server.inject('/sample/login/plain')).body),
  )
  expect(bodies.map((html) => html.includes('Development'))).toEqual([true, false])
})

describe.each([
  ['at the root', server, '/'],
  ["below the issuer's path", secure, '/sign/in/'],
] as [string, PageServer, string][])('what pages load, %s', async (_where, { server }, base) => {
  const documents = await Promise.all(
    samples.map(async ({ name, state }) => (await server.inject(`/sample/${name}/${state}`)).body),
  )
  const assets = new Set(
    documents.flatMap((html) => html.match(/(?<=(?:src|href)=")[^"]*\/assets\/[^"]*/g) ?? []),
  )

  test('lies below it, under names that change with the content, and is kept for ever', async () => {
    // One is the sheet of the page for a device's code.
    expect(assets.size).toBe(isThere('latchkey-device-code') ? 10 : 9)
    for (const url of assets) {
      expect(url.startsWith(`${base}assets/`)).toBe(true)
      const { statusCode, headers } = await server.inject(url)
      expect([statusCode, headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable'])
      expect(headers['x-content-type-options']).toBe('nosniff')
      const types = {
        css: 'text/css; charset=utf-8',
        js: 'text/javascript; charset=utf-8',
        svg: 'image/svg+xml',
      }
      expect(headers['content-type']).toBe(types[url.split('.').at(-1) as keyof typeof types])
      expect((await server.inject(url.replace(/\.[0-9a-f]{12}\./, '.000000000000.'))).statusCode).toBe(404)
    }
  })

  test('and so do the links at the top', async () => {
    for (const html of documents) expect(html).toContain(`<a class="wordmark" href="${base}">`)
    expect((await server.inject(base)).statusCode).toBe(200)
  })
})

test('the stylesheet is small, and the script of form_post speaks the language of old engines', async () => {
  const read = (name: string) =>
    readFile(new URL(`../../../templates/assets/${name}`, import.meta.url), 'utf8')
  expect((await read('style.css')).length).toBeLessThan(10_240)
  expect(await read('submit.js')).not.toMatch(/=>|`|\b(?:const|let|class|async)\b|\?\./)
})

/** It only holds together what belongs to a field. */
const BARE = new Set(['field'])

test('a class of a template has a look', async () => {
  const folder = new URL('../../../templates/', import.meta.url)
  const read = async (end: string, at: URL) =>
    (await Promise.all((await readdir(at)).filter((name) => name.endsWith(end)).map((name) => readFile(new URL(name, at), 'utf8')))).join('\n') // prettier-ignore
  const sheets = await read('.css', new URL('assets/', folder))
  const classes = [...(await read('.eta', folder)).matchAll(/ class="([\w -]+)/g)].flatMap(([, names = '']) => names.trim().split(' ')) // prettier-ignore
  expect(classes.length).toBeGreaterThan(100)
  expect([...new Set(classes)].filter((name) => !BARE.has(name) && !sheets.includes(`.${name}`))).toEqual([])
})

test.each([
  ['https://app.example/a.png', 'https://app.example'],
  ['https://APP.example:8443/', 'https://app.example:8443'],
  ['/assets/mark.svg', null],
  ['https://[/', null],
  ['https://app.example;sandbox/', null],
  ['https://app.example,sandbox/', null],
  ['https://*.example/', null],
  ['data:image/png;base64,AA', null],
  ['javascript:alert(1)', null],
  ['', null],
])('%j is allowed to pictures as %j', (address, source) => expect(policySource(address)).toBe(source))
