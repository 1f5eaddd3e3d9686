/** What strangers send for a registration: it is stored exactly as it was judged, or refused in the words of the standard. */
import fc from 'fast-check'
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { ClientMetadata } from '../../../src/protocol/client-metadata.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { bearer } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { REDIRECT_URI, SEED } from '../../support/sign-in.ts'

const server = await startServer({ OIDC_REGISTRATION: 'token', LOG_LEVEL: 'error' }, { seed: SEED })
const token = await kernelOf(server.server).initialTokens.create({ name: 'all', uses: 100_000 })
const REFUSALS = ['invalid_client_metadata', 'invalid_redirect_uri', 'invalid_request']
const MADE = [
  'client_id',
  'client_id_issued_at',
  'client_secret',
  'client_secret_expires_at',
  'registration_client_uri',
  'registration_access_token',
]

const SHOWN_ONCE = ['client_secret', 'client_secret_expires_at', 'registration_access_token']

async function send(method: string, url: string, shown: string, body?: string) {
  const response = await server.server.inject({
    method: method as 'POST',
    url,
    headers: { ...bearer(shown), ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { payload: body }),
  })
  return { status: response.statusCode, body: response.json<Record<string, unknown>>() }
}

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.webUrl({ withFragments: true, withQueryParameters: true }),
  fc.constantFrom(
    '', 'code', 'token', 'none', 'code id_token', 'authorization_code', 'implicit', 'client_credentials', 'web', 'pairwise', 'RS256',
    'openid', 'read_books', 'token_introspection', 'client_secret_basic', 'private_key_jwt', REDIRECT_URI, 'javascript:alert(1)',
    'data:text/html,x', 'https://a.example/#', 'https://[', 'http://127.0.0.1/', 'com.example.app:/', '\0', '\ud800', '__proto__',
  ),
) // prettier-ignore
const value = fc.oneof(
  text,
  fc.array(text, { maxLength: 4 }),
  fc.constantFrom<unknown>(null, true, false, 0, -1, 1e300, 3.5, {}, [], [[]], { keys: [] }, { keys: [{}] }),
  fc.jsonValue({ maxDepth: 3 }),
)
const members = fc.constantFrom(
  ...Object.keys(ClientMetadata.properties),
  'redirect_uri',
  'software_statement',
  'require_consent',
  'registrar',
  '__proto__',
  'constructor',
  'toString',
)

/** What is told of what was sent: lists lose what they have twice, and a scope is a text. */
function isAsSent(name: string, sent: unknown, told: unknown): boolean {
  if (name === 'redirect_uris') return isDeepStrictEqual(told, [...new Set([sent].flat())])
  if (name === 'scope' && Array.isArray(sent)) return told === [...new Set(sent)].join(' ')
  if (name === 'scope') return told === [...new Set(String(sent).split(' '))].filter(Boolean).join(' ')
  return JSON.stringify(told) === JSON.stringify(Array.isArray(sent) ? [...new Set(sent)] : sent)
}

/** What was read may be sent back as it is (RFC 7592 §2.2), and changes nothing. */
async function wrongWhenSentBack(url: string, read: Record<string, unknown>): Promise<unknown[]> {
  const { status, body } = await send(
    'PUT',
    url,
    String(read['registration_access_token']),
    JSON.stringify(read),
  )
  const changed = Object.entries(read).filter(
    ([name, one]) => !SHOWN_ONCE.includes(name) && !isDeepStrictEqual(body[name], one),
  )
  return status === 200 ? changed : [status, body]
}

/** What a document was answered, and what was read then; the empty list where all is as it should be. */
async function wrongWith(sent: ReadonlyMap<string, unknown>): Promise<unknown[]> {
  const pairs = [...sent].map(([name, one]) => `${JSON.stringify(name)}:${JSON.stringify(one)}`)
  const { status, body: told } = await send('POST', '/register', token, `{${pairs.join(',')}}`)
  if (status !== 201) return status === 400 && REFUSALS.includes(String(told['error'])) ? [] : [status, told]
  registered++
  const changed = Object.entries(told).filter(
    ([name, one]) =>
      !MADE.includes(name) && (sent.get(name) ?? null) !== null && !isAsSent(name, sent.get(name), one),
  )
  const url = new URL(String(told['registration_client_uri'])).pathname
  const read = await send('GET', url, String(told['registration_access_token']))
  const forgotten = Object.entries(told).filter(
    ([name, one]) => !SHOWN_ONCE.includes(name) && !isDeepStrictEqual(read.body[name], one),
  )
  return [...changed, ...forgotten, ...(await wrongWhenSentBack(url, read.body))]
}

let registered = 0

test('of any members, what is told is what was sent, and what is read later; all else is refused, and nothing is a fault', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(members, value), { maxLength: 5 }), async (pairs) => {
      expect(await wrongWith(new Map([['redirect_uris', [REDIRECT_URI]], ...pairs]))).toEqual([])
    }),
    { numRuns: 400 },
  )
  expect(registered).toBeGreaterThan(20)
})

/** Documents of which each has one thing that is not as it should be. */
const HOSTILE: readonly string[] = [
  '', ' ', 'null', 'true', '1', '"x"', '[]', '{', '{}}', '{"a":1,}', '\ufeff{}', '{"a":NaN}', '{"a":1e999}', "{'a':1}", '{"a":"\0"}',
  '{"a":"\\u0000"}', '{"client_name":"\\u0000"}', '{"client_name":"\\ud800"}', '{"client_name":"a","client_name":"b"}',
  '{"redirect_uris":["https://a.example/"],"redirect_uris":["https://b.example/"]}', '{"client_name":"a","client\\u005fname":"b"}',
  '{"__proto__":{"registrar":null},"client_name":1}', `{"client_name":"${'a'.repeat(300_000)}"}`, `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`,
  `{"a":${'{"a":'.repeat(500)}1${'}'.repeat(500)}}`, `{${Array.from({ length: 5000 }, (_, at) => `"m${at}":1`).join(',')},"redirect_uris":1}`,
  ...['javascript:x', 'https://a.example/#f', '//a.example', '/a', 'https://a.example\\@b.example/', 'https://a.example/\\t', ' https://a.example',
    'https://', 'http://a.example/', 'file:///etc/passwd', 'data:,x', 'vbscript:x', 'blob:https://a.example/x', 'about:blank', 'https://a b/',
    'https://user:pw@a.example/#', 'mailto:a@a.example', 'com.example.app:/cb#x', '', '*', 'https://*'].map((uri) => `{"redirect_uris":[${JSON.stringify(uri)}]}`),
  ...[null, 1, true, {}, [1], [null], [[]], [{}], 'x'].map((uris) => JSON.stringify({ redirect_uris: uris })),
  ...Object.keys(ClientMetadata.properties)
    .filter((name) => name !== 'redirect_uris')
    .flatMap((name) => [{ a: 1 }, [[1]], [{ a: null }], -1.5].map((odd) => JSON.stringify({ redirect_uris: [REDIRECT_URI], [name]: odd }))),
] // prettier-ignore

test('C1: two hundred hostile documents are refused, and nothing of them is stored', async () => {
  expect(HOSTILE.length).toBeGreaterThan(200)
  const count = async () => server.database.query('select count(*) from clients')
  const before = await count()
  for (const document of HOSTILE) {
    const { status, body } = await send('POST', '/register', token, document)
    expect([document.slice(0, 200), status]).toEqual([
      document.slice(0, 200),
      expect.toBeOneOf([400, 413]) as number,
    ])
    expect(REFUSALS).toContain(body['error'])
  }
  expect(await count()).toEqual(before)
})
