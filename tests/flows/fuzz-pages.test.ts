/** Generated input at the pages, and at userinfo: every answer is one of ours, without a fault and without an echo. */
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { startServer } from '../support/server.ts'
import { authorizationUrl, getTokens, goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../support/user-agent.ts'

/** Stands in every value that is sent. */
const MARK = 'Zq7Xv9<'
const NAMES = [
  'client_id', 'redirect_uri', 'response_type', 'response_mode', 'scope', 'state', 'nonce', 'prompt', 'max_age', 'claims',
  'id_token_hint', 'code_challenge', 'code_challenge_method', 'resource', 'request', 'post_logout_redirect_uri', 'access_token',
  'csrf_token', 'username', 'password', 'decision', '__proto__', 'constructor', 'a[b]', '',
] // prettier-ignore
const PATHS = [
  '/authorize',
  '/authorize/',
  '/end-session',
  '/userinfo',
  '/userinfo/',
  '/setup',
  '/sign-in',
  '/',
  '/interaction/x',
]
const server = await startServer({ LOG_LEVEL: 'info' }, { seed: SEED })
const good = new URL(authorizationUrl(server)).searchParams
let agent: UserAgent
let token: string

beforeAll(async () => {
  agent = createUserAgent(server.url)
  token = (await getTokens(server, {}, agent)).access_token
})

const value = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }).map((one) => encodeURIComponent(one.toWellFormed())),
  fc
    .uint8Array({ maxLength: 20 })
    .map((bytes) => Array.from(bytes, (byte) => `%${byte.toString(16)}`).join('')),
  fc.json({ maxDepth: 3 }).map(encodeURIComponent),
  fc.constantFrom(
    'none',
    'login',
    'code',
    'form_post',
    'openid',
    'S256',
    '1e400',
    '-1',
    '%00',
    '%',
    'allow',
    'null',
  ),
)
const pair = fc
  .tuple(fc.constantFrom(...NAMES), value, fc.boolean())
  .map(([name, text, marked]) => `${name}=${marked ? encodeURIComponent(MARK) : ''}${text}`)
/** Of a good request some parameters, and then anything. */
const form = fc
  .tuple(
    fc.subarray([...good].map((one) => new URLSearchParams([one]).toString())),
    fc.array(pair, { maxLength: 5 }),
  )
  .map(([kept, more]) => [...kept, ...more].join('&'))

/** Never a fault, nor markup of what was sent; never anywhere but to us or to the client. */
async function assertClean(response: Response): Promise<void> {
  const body = await response.text()
  expect(response.status).toBeLessThan(500)
  expect(body).not.toContain(MARK)
  expect(response.headers.get('location') ?? '/').toMatch(/^(?:\/|https:\/\/app\.example\/callback\?)/)
  const type = response.headers.get('content-type') ?? ''
  // HEAD has none.
  if (type.startsWith('application/json') && body !== '') JSON.parse(body)
}

const headersOf = (signedIn: boolean): Record<string, string> => ({
  accept: 'text/html',
  ...(signedIn ? { cookie: [...agent.cookies].map((one) => one.join('=')).join('; ') } : {}),
})

test('any query and any form, signed in or not', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...PATHS),
      form,
      fc.boolean(),
      fc.boolean(),
      async (path, text, signedIn, posts) => {
        const headers = { ...headersOf(signedIn), authorization: `Bearer ${token}` }
        const sent = { ...headers, 'content-type': 'application/x-www-form-urlencoded' }
        await assertClean(
          posts
            ? await server.request(path, { method: 'POST', headers: sent, body: text })
            : await server.get(`${path}?${text}`, headers),
        )
      },
    ),
    { numRuns: 800 },
  )
})

test('any form at the steps of an interaction', async () => {
  const own = createUserAgent(server.url)
  const { url } = await own.get(authorizationUrl(server, { prompt: 'login' }))
  const cookie = [...own.cookies].map((one) => one.join('=')).join('; ')
  const headers = { cookie, 'content-type': 'application/x-www-form-urlencoded', origin: server.url }
  const step = fc.oneof(fc.constantFrom('login', 'consent', '__proto__'), value)
  await fc.assert(
    fc.asyncProperty(step, form, async (name, body) => {
      await assertClean(await server.request(`${url}/${name}`, { method: 'POST', headers, body }))
    }),
    { numRuns: 300 },
  )
  // Nobody got anywhere by it.
  const page = await own.get(url)
  expect([page.status, page.body.includes('id="login"')]).toEqual([200, true])
})

test('any header of a browser', async () => {
  const names = [
    'cookie',
    'origin',
    'sec-fetch-site',
    'accept',
    'authorization',
    'x-forwarded-for',
    'user-agent',
    'content-type',
  ]
  const printable = fc.string({ maxLength: 60 }).map((one) => one.replaceAll(/[^\x20-\x7e]/g, '').trim())
  const headers = fc.dictionary(fc.constantFrom(...names), printable, { noNullPrototype: true })
  const method = fc.constantFrom('GET', 'POST', 'HEAD', 'PUT', 'OPTIONS')
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...PATHS), method, headers, async (path, one, more) => {
      const query = path.startsWith('/authorize') ? `?${good.toString()}` : ''
      await assertClean(await server.request(path + query, { method: one, headers: more }))
    }),
    { numRuns: 400 },
  )
})

test('after all of it people can sign in, nothing is polluted, and no fault is in the log', async () => {
  const own = createUserAgent(server.url)
  const page = await goThrough(own, await own.get(authorizationUrl(server)))
  expect(page.headers.get('location')).toContain('code=')
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  expect(server.output()).not.toMatch(/"level":"(?:error|fatal)"/)
  expect(server.output()).not.toContain('Zq7Xv9')
})
