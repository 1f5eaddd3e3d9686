/** Whatever is pushed: refused in words or kept, and never a failure of ours. In the process, so that there can be many. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addressWith, ASKED, PUBLIC } from '../../../support/pushed.ts'
import { basic } from '../../../support/requests.ts'
import { startServer } from '../../../support/server.ts'
import { createPkce, SEED, WEB } from '../../../support/sign-in.ts'

const server = await startServer({ LOG_LEVEL: 'warn' }, { seed: { ...SEED, clients: [WEB, PUBLIC] } })
const { server: app } = server
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 10_000)

const NAMES = [
  ...Object.keys(ASKED), 'client_id', 'nonce', 'prompt', 'max_age', 'claims', 'login_hint', 'id_token_hint', 'acr_values',
  'ui_locales', 'display', 'response_mode', 'resource', 'code_challenge', 'code_challenge_method', 'dpop_jkt', 'request',
  'request_uri', 'authorization_details', 'client_secret', 'client_assertion', '__proto__', 'constructor',
] // prettier-ignore
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 50 }),
  fc.json({ maxDepth: 3 }),
  fc.constantFrom(
    '',
    'none',
    'code',
    'openid',
    '{}',
    '[]',
    'null',
    '-1',
    'x'.repeat(5000),
    '\0',
    '%',
    '\ud800',
    'web',
  ),
  fc.webUrl(),
)
const anyPairs = fc.array(fc.tuple(fc.oneof(fc.constantFrom(...NAMES), anyText), anyText), { maxLength: 6 })
const good: [string, string][] = [
  ...Object.entries(ASKED),
  ['client_id', 'public'],
  ['code_challenge', createPkce().challenge],
  ['code_challenge_method', 'S256'],
]
/** Other values in the place of good ones, and what stands beside them. */
const anyForm = fc.tuple(fc.subarray(good), anyPairs).map(([had, more]) => {
  const names = new Set(more.map(([name]) => name))
  return new URLSearchParams([...had.filter(([name]) => !names.has(name)), ...more]).toString()
})
const anyBody = fc.oneof(
  { weight: 8, arbitrary: anyForm },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
)
const anyAuthorization = fc.oneof(
  fc.constantFrom(undefined, basic(WEB.client_id, WEB.client_secret).authorization),
  fc.base64String().map((text) => `Basic ${text}`),
)
const anyType = fc.oneof(
  { weight: 20, arbitrary: fc.constant('application/x-www-form-urlencoded') },
  { weight: 1, arbitrary: fc.constantFrom('application/json', 'text/plain', 'multipart/form-data') },
)

test('pushed', async () => {
  const statuses = new Map<number, number>()
  let turn = 0
  await fc.assert(
    fc.asyncProperty(anyBody, anyAuthorization, anyType, async (payload, authorization, type) => {
      const headers = { 'content-type': type, ...(authorization === undefined ? {} : { authorization }) }
      // Who fails too often is asked to wait, by network.
      const remoteAddress = `198.51.${turn >> 8}.${turn++ & 255}`
      const { statusCode, body } = await app.inject({ method: 'POST', url: '/par', payload, headers, remoteAddress })
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
      const { error, request_uri: uri } = JSON.parse(body) as { error?: string; request_uri?: string }
      expect(`${statusCode} ${error ?? uri}`).toMatch(/^(?:201 urn:|(?:400|401|413|415|429) [a-z])/)
    }),
    { numRuns: RUNS },
  )
  expect(statuses.get(201) ?? 0).toBeGreaterThan(RUNS / 100)
}) // prettier-ignore

test('brought by a browser', async () => {
  const anyReference = fc.oneof(
    fc.base64String().map((text) => `urn:ietf:params:oauth:request_uri:${text}`),
    anyText.map((text) => `urn:ietf:params:oauth:request_uri:${text}`),
    anyText,
  )
  await fc.assert(
    fc.asyncProperty(anyReference, anyPairs, async (request_uri, more) => {
      const url = `${addressWith({ request_uri })}&${new URLSearchParams(more).toString()}`
      const { statusCode } = await app.inject({ url })
      expect(statusCode).toBe(400)
    }),
    { numRuns: RUNS / 10 },
  )
})

test('nothing of it was a failure of ours', () => {
  expect(server.output()).not.toMatch(/"level":(?:50|60)/)
})
