/** Software statements (RFC 7591 §2.3): whose word is taken, what it overrides, and what is none. */
import { KeyObject } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { assertionOf, createAssertionKey, inSeconds } from '../../support/client-assertions.ts'
import { forgeriesOf } from '../../support/forged-jwts.ts'
import { startReceiver } from '../../support/receiver.ts'
import { bearer } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { SEED } from '../../support/sign-in.ts'

const ISSUER = 'https://directory.example'
const key = await createAssertionKey()
const directory = await startReceiver((_request, response) =>
  response
    .writeHead(200, { 'content-type': 'application/jwk-set+json', 'cache-control': 'no-store' })
    .end(JSON.stringify({ keys: [key.jwk] })),
)
const origin = `http://127.0.0.1:${directory.port}`
const settings = {
  OIDC_REGISTRATION: 'token',
  OIDC_SOFTWARE_STATEMENT_ISSUERS: `${ISSUER} ${origin}/jwks, https://closed.example http://127.0.0.1:1/jwks`,
  UNSAFE_OUTBOUND_ORIGINS: `${origin},http://127.0.0.1:1`,
}
const server = await startServer(settings, { seed: SEED })
const invitation = await kernelOf(server.server).initialTokens.create({ name: 'all', uses: 10_000 })

interface Told extends Record<string, unknown> {
  client_id: string
  registration_client_uri: string
  registration_access_token: string
}

async function send(method: string, url: string, token: string, body: object, of = server) {
  const response = await of.request(url.replace(of.url, ''), {
    method,
    headers: { ...bearer(token), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Told }
}

const register = async (software_statement: unknown, beside: object = {}) =>
  send('POST', '/register', invitation, { ...beside, software_statement })

/** Of an app at app.example; without what bounds an assertion. */
async function statementOf(claims: object = {}, by = key): Promise<string> {
  const said = {
    client_name: 'Payments',
    redirect_uris: ['https://app.example/callback'],
    software_id: 'pay',
  }
  const unbound = { sub: undefined, aud: undefined, exp: undefined, jti: undefined }
  return assertionOf(by, ISSUER, server.url, { ...unbound, ...said, ...claims })
}

test('what it says goes before what stands beside it, and it is returned as it came', async () => {
  const statement = await statementOf({
    sub: 'the app',
    aud: server.url,
    iat: inSeconds(0),
    exp: inSeconds(600),
  })
  const beside = {
    client_name: 'Other',
    redirect_uris: ['https://evil.example/'],
    client_uri: 'https://app.example/',
  }
  const { status, body } = await register(statement, beside)
  expect([status, body]).toMatchObject([
    201,
    {
      client_name: 'Payments',
      redirect_uris: ['https://app.example/callback'],
      software_id: 'pay',
      client_uri: 'https://app.example/',
      software_statement: statement,
    },
  ])
  for (const name of ['iss', 'sub', 'aud', 'exp', 'iat', 'jti']) expect(body).not.toHaveProperty(name)
  const stored = await server.server.oauth.clients.find(body.client_id)
  expect(stored).toMatchObject({ client_name: 'Payments', software_statement: statement })
})

test('redirect_uri beside it does not stand in the way of its redirect_uris', async () => {
  const { status, body } = await register(await statementOf(), { redirect_uri: 'https://evil.example/' })
  expect([status, body['redirect_uris']]).toEqual([201, ['https://app.example/callback']])
})

test('at a replacement it is judged again, but for the one that is there: that goes on when it has expired', async () => {
  const soon = await statementOf({ exp: inSeconds(600) })
  const { body: had } = await register(soon)
  const replace = async (token: string, software_statement?: string) =>
    send('PUT', had.registration_client_uri, token, {
      client_id: had.client_id,
      client_name: 'Other',
      redirect_uris: ['https://app.example/callback'],
      ...(software_statement === undefined ? {} : { software_statement }),
    })
  const expired = await statementOf({ exp: inSeconds(-600) })
  const refused = await replace(had.registration_access_token, expired)
  expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_software_statement'])
  // As if that had been here before it expired.
  await server.database.query(
    `update clients set metadata = metadata || jsonb_build_object('software_statement', $2::text) where client_id = $1`,
    [had.client_id, expired],
  )
  const kept = await replace(had.registration_access_token, expired)
  expect([kept.status, kept.body['client_name'], kept.body['software_statement']]).toEqual([
    200,
    'Payments',
    expired,
  ])
  const without = await replace(kept.body.registration_access_token)
  expect([without.status, without.body['client_name']]).toEqual([200, 'Other'])
  expect(without.body).not.toHaveProperty('software_statement')
})

describe('refused is', async () => {
  const stranger = await createAssertionKey()
  const unapproved = 'unapproved_software_statement'
  const invalid = 'invalid_software_statement'
  test.each<[string, string | Promise<string>, string]>([
    ['one of an issuer that nobody trusts', statementOf({ iss: 'https://other.example' }), unapproved],
    ['one of nobody', statementOf({ iss: undefined }), unapproved],
    ['one by another key', statementOf({}, stranger), invalid],
    ['one that has expired', statementOf({ exp: inSeconds(-60) }), invalid],
    ['one that is not good yet', statementOf({ nbf: inSeconds(60) }), invalid],
    ['one for another server', statementOf({ aud: 'https://other.example' }), invalid],
    ['one whose issuer is away', statementOf({ iss: 'https://closed.example' }), invalid],
    ['no JWT', 'a text', invalid],
    ['nothing', '', invalid],
    [
      'what its policy does not allow',
      statementOf({ grant_types: ['client_credentials'] }),
      'invalid_client_metadata',
    ],
    ['what only an administrator sets', statementOf({ require_consent: false }), 'invalid_client_metadata'],
    [
      'an address that nobody may have',
      statementOf({ redirect_uris: ['http://app.example/'] }),
      'invalid_redirect_uri',
    ],
  ])('%s', async (_name, statement, error) => {
    const { status, body } = await register(await statement)
    expect([status, body]).toMatchObject([400, { error }])
  })

  test('what is no text', async () => {
    for (const odd of [1, {}, [], true])
      expect((await register(odd, { redirect_uris: ['https://app.example/'] })).body).toMatchObject({
        error: 'invalid_client_metadata',
      })
  })

  test('every forgery', async () => {
    const good = await statementOf({ sub: 'the app' })
    const forgers = { privateKey: KeyObject.from(key.privateKey), publicJwk: key.jwk }
    const { 'no kid': _signedAllTheSame, ...forgeries } = await forgeriesOf(good, forgers, ['iss'])
    for (const [name, forgery] of Object.entries(forgeries)) {
      const { status, body } = await register(forgery)
      expect([name, status, body]).toMatchObject([
        name,
        400,
        { error: expect.toBeOneOf([invalid, unapproved]) as string },
      ])
    }
  })
})

test('where no issuer is named it is ignored, and not told', async () => {
  const plain = await startServer({ OIDC_REGISTRATION: 'token' }, { seed: SEED })
  const token = await kernelOf(plain.server).initialTokens.create({ name: 'one' })
  const metadata = { redirect_uris: ['https://app.example/'], software_statement: await statementOf() }
  const { status, body } = await send('POST', '/register', token, metadata, plain)
  expect([status, body]).toMatchObject([201, { redirect_uris: ['https://app.example/'] }])
  expect(body).not.toHaveProperty('software_statement')
  expect(body).not.toHaveProperty('client_name')
})

test.each(['https://directory.example', 'a b c', 'https://a.example http://a.example/jwks', 'a nowhere'])(
  'a start with %j for an issuer is refused',
  async (pair) => {
    await expect(startServer({ OIDC_SOFTWARE_STATEMENT_ISSUERS: pair })).rejects.toThrow(
      /^OIDC_SOFTWARE_STATEMENT_ISSUERS must have pairs of an issuer and the https address of its keys/,
    )
  },
)
