/**
 * The backchannel authentication endpoint (CIBA §7, §13): whom it takes from, what it takes, and each error that there is.
 * @needs latchkey-ciba
 */
import { describe, expect, test, vi } from 'vitest'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import type { Query } from '../../../../src/store/statement.ts'
import {
  ask,
  call,
  CALL_CENTRE,
  CIBA_SEED,
  CIBA_SETTINGS,
  answer,
  approve,
  GRANT_TYPE,
  loginHintToken,
  pageOf,
  PATH,
  poll,
  signedRequest,
} from '../../../support/ciba.ts'
import {
  assertionOf,
  ASSERTION_TYPE,
  createAssertionKey,
  inSeconds,
} from '../../../support/client-assertions.ts'
import { commandsHere } from '../../../support/command-here.ts'
import { basic } from '../../../support/requests.ts'
import { startServer } from '../../../support/server.ts'
import { ALICE, BOB } from '../../../support/sign-in.ts'
import { openClient, register, ROOT, signedIn } from '../../admin/administrator.ts'
import { isThere, rowsWith } from '../../../support/left-out.ts'

const key = await createAssertionKey()
const rsa = await createAssertionKey('rsa', 'RS256')
const jwks = { keys: [key.jwk, rsa.jwk] }
const of = (client_id: string, more: object = {}) => ({ ...CALL_CENTRE, client_id, ...more })
const HINTING = of('hinting', { jwks })
const SIGNING = of('signing', { jwks, backchannel_authentication_request_signing_alg: 'ES256' })
const PINGED = of('pinged', {
  backchannel_token_delivery_mode: 'ping',
  backchannel_client_notification_endpoint: 'https://app.example/ciba',
})
const PAIRWISE = of('pairwise', { subject_type: 'pairwise', redirect_uris: ['https://pair.example/'] })
const PLAIN = { client_id: 'plain', client_secret: CALL_CENTRE.client_secret, scope: ['read_books'] }
const PUBLIC = {
  client_id: 'public',
  token_endpoint_auth_method: 'none',
  redirect_uris: ['https://app.example/'],
}
const server = await startServer(CIBA_SETTINGS, {
  seed: {
    ...CIBA_SEED,
    users: [...CIBA_SEED.users, ROOT],
    clients: [...CIBA_SEED.clients, HINTING, SIGNING, PINGED, PAIRWISE, PLAIN, PUBLIC],
  },
})
const { clients, users } = server.server.oauth
const invalid = (error: string, status = 400) => ({ status, error })
const good = { scope: 'openid read_books', login_hint: ALICE.username }
/** Nobody is asked so often in earnest. */
const forget = async (): Promise<unknown> =>
  server.database.query(`delete from artifacts where kind = 'ciba-place'`)

describe('the client', () => {
  test('proves who it is, by whatever it is registered for, and nobody is public', async () => {
    expect(await answer(server.post(PATH, good))).toMatchObject(invalid('invalid_client', 401))
    const wrong = { ...CALL_CENTRE, client_secret: 'wrong' }
    expect(await call(server, good, wrong)).toMatchObject(invalid('invalid_client', 401))
    expect((await answer(server.post(PATH, { ...good, client_id: 'public' }))).status).toBe(401)
    const { client_id, client_secret } = CALL_CENTRE
    expect(await answer(server.post(PATH, { ...good, client_id, client_secret }))).toMatchObject({
      status: 200,
    })
  })

  test('is registered for the grant', async () => {
    expect(await call(server, good, PLAIN)).toMatchObject(invalid('unauthorized_client'))
  })

  test('by GET there is nothing', async () => {
    expect((await server.get(PATH)).status).toBe(405)
  })
})

test('a demand that no sign-in here reaches is refused before anybody is asked, and takes no place', async () => {
  await forget()
  const acr = (asked: object) => call(server, { ...good, claims: JSON.stringify({ id_token: { acr: asked } }) })
  const refused = [{ essential: true, values: ['bogus'] }, { essential: true, value: 'urn:made:up' }, { essential: true, values: [] }]
  for (const one of [...refused, ...refused])
    expect(await acr(one)).toMatchObject(invalid('unmet_authentication_requirements'))
  for (const one of [{ values: ['bogus'] }, { essential: true }, { essential: true, values: ['bogus', '1'] }])
    expect(await acr(one)).toMatchObject({ status: 200 })
  await forget()
}) // prettier-ignore

describe('the hint', () => {
  test('is one of three, and no more', async () => {
    const { login_hint: _hint, ...none } = good
    expect(await call(server, none)).toMatchObject(invalid('invalid_request'))
    expect(await call(server, { ...good, id_token_hint: 'a' })).toMatchObject(invalid('invalid_request'))
    expect(await call(server, { ...good, login_hint: '' })).toMatchObject(invalid('invalid_request'))
  })

  test('by name, verified address or sub; whoever is not there, or may not sign in, is unknown alike', async () => {
    const { id } = (await users.find('alice'))!
    for (const login_hint of ['ALICE', ALICE.email, id]) {
      await ask(server, { login_hint })
      await forget()
    }
    await users.create({ username: 'gone', password: 'a password of somebody' })
    await users.disable('gone')
    const told = await Promise.all(
      // Bob's address is not verified.
      [
        'nobody',
        'nobody@example.com',
        BOB.email,
        'gone',
        id.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
        '\u{1F600}',
      ].map(async (login_hint) => call(server, { ...good, login_hint })),
    )
    for (const one of told) expect(one).toEqual(told[0])
    expect(told[0]).toMatchObject(invalid('unknown_user_id'))
  })

  test('an ID token that the client got here, also an old one, also by a sub of its own', async () => {
    for (const client of [CALL_CENTRE, PAIRWISE]) {
      await forget()
      const asked = await ask(server, {}, client)
      await approve(server, asked)
      const tokens = await poll(server, asked, client)
      const id_token_hint = String(tokens['id_token'])
      const again = await ask(server, { id_token_hint }, client)
      await approve(server, again)
      expect(await poll(server, again, client)).toMatchObject({ status: 200 })
      const other = client === PAIRWISE ? CALL_CENTRE : PAIRWISE
      expect(await call(server, { scope: 'openid', id_token_hint }, other)).toMatchObject(
        invalid('invalid_request'),
      )
    }
    expect(await call(server, { scope: 'openid', id_token_hint: 'a.b.c' })).toMatchObject(
      invalid('invalid_request'),
    )
  })

  test('a token that the client has signed, of a subject identifier of RFC 9493', async () => {
    const { id } = (await users.find('alice'))!
    const with_ = async (claims: object, by = key) =>
      call(server, { scope: 'openid', login_hint_token: await loginHintToken(by, 'hinting', server.url, claims) }, HINTING)
    for (const sub_id of [
      { format: 'email', email: ALICE.email },
      { format: 'iss_sub', iss: server.url, sub: id },
      { format: 'opaque', id: 'alice' },
    ]) {
      expect(await with_({ sub_id })).toMatchObject({ status: 200 })
      await forget()
    }
    for (const sub_id of [
      { format: 'email', email: [ALICE.email] },
      { format: 'opaque', id: ['alice'] },
      { format: 'email', email: 'nobody@example.com' },
      { format: 'iss_sub', iss: 'https://other.example', sub: id },
      { format: 'phone_number', phone_number: ALICE.phone_number },
      { format: 'email' },
      {},
    ])
      expect(await with_({ sub_id })).toMatchObject(invalid('unknown_user_id'))
    expect(await with_({ exp: inSeconds(-60) })).toMatchObject(invalid('expired_login_hint_token'))
    expect(await with_({ exp: undefined })).toMatchObject(invalid('invalid_request'))
    expect(await with_({ aud: 'https://other.example' })).toMatchObject(invalid('invalid_request'))
    expect(await with_({ sub_id: 'alice' })).toMatchObject(invalid('invalid_request'))
    expect(await with_({}, await createAssertionKey('one'))).toMatchObject(invalid('invalid_request'))
    expect(await call(server, { scope: 'openid', login_hint_token: 'x' }, HINTING)).toMatchObject(invalid('invalid_request'))
  }) // prettier-ignore
})

describe('what is asked', () => {
  test.each([
    [{ scope: '' }, 'invalid_request'],
    [{ scope: 'read_books' }, 'invalid_scope'],
    [{ scope: 'openid "' }, 'invalid_scope'],
    [{ resource: 'https://nowhere.example/' }, 'invalid_target'],
    [{ requested_expiry: '0' }, 'invalid_request'],
    [{ requested_expiry: '-1' }, 'invalid_request'],
    [{ requested_expiry: '1.5' }, 'invalid_request'],
    [{ requested_expiry: 'soon' }, 'invalid_request'],
    [{ requested_expiry: '9'.repeat(30) }, 'invalid_request'],
    [{ claims: '{' }, 'invalid_request'],
    [{ request: 'a.b.c' }, 'invalid_request'],
    [{ binding_message: 'x'.repeat(101) }, 'invalid_binding_message'],
    [{ binding_message: 'two\nlines' }, 'invalid_binding_message'],
    [{ binding_message: 'pay\u202Eevil' }, 'invalid_binding_message'],
    [{ binding_message: 'see https://evil.example' }, 'invalid_binding_message'],
    [{ binding_message: 'see www.evil.example' }, 'invalid_binding_message'],
    [{ binding_message: 'see evil.example/pay' }, 'invalid_binding_message'],
    [{ binding_message: 'Pay at 1688.com/win now' }, 'invalid_binding_message'],
    [{ binding_message: 'हिन्दी.com/pay' }, 'invalid_binding_message'],
    [{ binding_message: 'pay.भारत' }, 'invalid_binding_message'],
    [{ binding_message: 'see 192.0.2.1/x' }, 'invalid_binding_message'],
    [{ binding_message: 'see １９２.0.2.1' }, 'invalid_binding_message'],
    [{ binding_message: 'see evil-.example' }, 'invalid_binding_message'],
    [{ binding_message: `pile${'\u0316'.repeat(4)}` }, 'invalid_binding_message'],
    [{ binding_message: '<b>' }, 'invalid_binding_message'],
    [{ binding_message: 'zero\u200Bwidth' }, 'invalid_binding_message'],
    [{ binding_message: 'evil.\u034Fcom/pay' }, 'invalid_binding_message'],
    [{ binding_message: '\u3164\u3164' }, 'invalid_binding_message'],
    [{ binding_message: '\u{1F44D}' }, 'invalid_binding_message'],
  ])('%j is refused: %s', async (form, error) => {
    expect(await call(server, { ...good, ...form })).toMatchObject(invalid(error))
  })

  test.each([
    'W4SCT',
    'Pay 100.00 € to Book-Shop, no. 4711/2',
    'Bestätigen Sie: 品川 7?',
    'Order 17.03.2026, v1.2.',
    'Rp 1.234.567.890, हिन्दी. 25.000.000.000 ₫',
  ])('a binding message may be %s', async (binding_message) => {
    await ask(server, { binding_message })
    await forget()
  })

  test('expires when the client says, and no later than the server does', async () => {
    for (const [requested_expiry, expires_in] of [['1', 1], ['599', 599], ['601', 600], ['999999999', 600]] as const) {
      expect(await ask(server, { requested_expiry })).toMatchObject({ expires_in, interval: 5 })
      await forget()
    }
    expect(await ask(server)).toMatchObject({ expires_in: 600 })
    await forget()
  }) // prettier-ignore

  test('a client that is told brings what it knows the server by', async () => {
    expect(await call(server, good, PINGED)).toMatchObject(invalid('invalid_request'))
    for (const client_notification_token of ['a b', 'ü', 'x'.repeat(1025), '=x'])
      expect(await call(server, { ...good, client_notification_token }, PINGED)).toMatchObject(invalid('invalid_request'))
    expect(await call(server, { ...good, client_notification_token: 'a-._~+/1==' }, PINGED)).toMatchObject({ status: 200 })
    await forget()
  }) // prettier-ignore

  test('in a JWT alone where the client has registered so, once', async () => {
    const signed = async (claims: object = {}, by = key): Promise<string> =>
      signedRequest(by, 'signing', server.url, { ...good, ...claims })
    const once = await signed({ requested_expiry: 60, binding_message: '1234' })
    expect(await call(server, { request: once }, SIGNING)).toMatchObject({ status: 200, expires_in: 60 })
    expect(await call(server, { request: once }, SIGNING)).toMatchObject(invalid('invalid_request'))
    expect(await call(server, good, SIGNING)).toMatchObject(invalid('invalid_request'))
    expect(await call(server, { request: await signed(), scope: 'openid' }, SIGNING)).toMatchObject(invalid('invalid_request'))
    expect(await call(server, { request: await signed({}, rsa) }, SIGNING)).toMatchObject(invalid('invalid_request'))
    expect(await call(server, { request: await signed({ request: 'a.b.c' }) }, SIGNING)).toMatchObject(invalid('invalid_request'))
    expect(await call(server, { request: await signed({ sub: 'signing' }) }, SIGNING)).toMatchObject(invalid('invalid_request'))
    expect(await call(server, { request: await signed({ binding_message: 'x'.repeat(200) }) }, SIGNING)).toMatchObject(invalid('invalid_binding_message'))
    await forget()
  }) // prettier-ignore
})

describe('nobody is flooded', () => {
  test('a client has five requests to one person that wait; an answer makes room, and others are asked', async () => {
    const asked = []
    for (let one = 0; one < 5; one++) asked.push(await ask(server))
    const refused = await server.post(PATH, good, basic(CALL_CENTRE.client_id, CALL_CENTRE.client_secret))
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
    expect(await refused.json()).toMatchObject({ error: 'access_denied' })
    await ask(server, { login_hint: 'bob' })
    await ask(server, {}, HINTING)
    await approve(server, asked[2]!)
    await ask(server)
    expect(await call(server, good)).toMatchObject({ status: 429 })
    await forget()
  })

  test.each(['ciba', 'ciba-polls'])('what could not be stored, of %s, takes no place', async (kind) => {
    const { query } = server.database
    const requests = async () => query(`select hash from artifacts where kind = 'ciba' and spent_at is null order by hash`)
    const before = await requests()
    await query(`create function fail_once() returns trigger language plpgsql as $$ begin raise 'no room'; end $$`)
    await query(`create trigger fail_once before insert on artifacts for each row when (new.kind = '${kind}') execute function fail_once()`)
    for (let one = 0; one < 5; one++) expect(await call(server, good)).toMatchObject({ status: 500 })
    await query('drop function fail_once cascade')
    expect(await query(`select kind from artifacts where kind = 'ciba-place'`)).toEqual([])
    expect(await requests()).toEqual(before)
    await ask(server)
    await forget()
  }) // prettier-ignore

  test('nor does what was stored while its answer was lost', async () => {
    const { database } = kernelOf(server.server)
    const { transaction } = database
    const losing = vi.spyOn(database, 'transaction').mockImplementation(async (work) => {
      await transaction(work)
      throw new Error('the connection was lost')
    })
    for (let one = 0; one < 5; one++) expect(await call(server, good)).toMatchObject({ status: 500 })
    losing.mockRestore()
    expect(await server.database.query(`select kind from artifacts where kind = 'ciba-place'`)).toEqual([])
    await ask(server)
    await forget()
  })

  test.each(['artifact-put-of-user', 'artifact-put'])('nor what failed at the statement %s, as the database went away', async (lost) => {
    const { database } = kernelOf(server.server)
    const { query, transaction } = database
    let isAway = false
    const losing = (asked: Query): Query => async (statement, values = []) => {
      isAway ||= statement.name === lost && values.at(1) !== 'ciba-place'
      if (isAway) throw new Error('the connection was lost')
      return asked(statement, values)
    }
    const spies = [
      vi.spyOn(database, 'query').mockImplementation(losing(query)),
      vi.spyOn(database, 'transaction').mockImplementation(async (work) => transaction(async (asked) => work(losing(asked)))),
    ]
    for (let one = 0; one < 5; one++) {
      expect(await call(server, good)).toMatchObject({ status: 500 })
      isAway = false
    }
    for (const spy of spies) spy.mockRestore()
    expect(await server.database.query(`select kind from artifacts where kind = 'ciba-place'`)).toEqual([])
    await ask(server)
    await forget()
  }) // prettier-ignore

  test('nor by requests that expire at once', async () => {
    for (let one = 0; one < 5; one++) await ask(server, { requested_expiry: '1', login_hint: 'bob' })
    await server.database.query(`delete from artifacts where kind = 'ciba'`)
    expect(await call(server, { ...good, login_hint: 'bob' })).toMatchObject({ status: 429 })
    await forget()
  })
})

test('a client that goes through a list of names has to wait', async () => {
  await clients.create(of('curious'))
  const statuses: number[] = []
  for (let one = 0; one < 102; one++)
    statuses.push((await call(server, { ...good, login_hint: `nobody-${one}` }, of('curious'))).status)
  expect(new Set(statuses.slice(0, 100))).toEqual(new Set([400]))
  expect(statuses.at(-1)).toBe(429)
  expect((await call(server, good, of('curious'))).status).toBe(429)
  await ask(server)
  await forget()
})

describe('devices', () => {
  test('one that fails is logged, and the others tell; where nobody can, the client hears so', async () => {
    const told: string[] = []
    const other = await startServer(CIBA_SETTINGS, {
      seed: CIBA_SEED,
      build: { without: ['latchkey-account', 'latchkey-own-data', 'latchkey-passkeys', 'latchkey-upstreams', 'latchkey-second-factor'] },
      extend: ({ oauth }) => {
        oauth.add('authenticationDevice', { name: 'broken', reach: async () => { throw new Error('no battery') } })
        oauth.add('authenticationDevice', {
          name: 'pager',
          async reach({ user, uri }) {
            if (user.username !== 'alice') return false
            told.push(uri)
            return true
          },
        })
      },
    })
    const asked = await ask(other)
    expect(told).toEqual([pageOf(other, asked)])
    expect(other.output()).toContain('no battery')
    // Bob's address is not verified, and there is no account to look at.
    expect(await call(other, { ...good, login_hint: 'bob' })).toMatchObject(invalid('access_denied', 403))
    const waiting = await other.database.query(`select count(*)::int as count from artifacts where kind in ('ciba', 'ciba-place')`)
    expect(waiting).toEqual([{ count: 2 }])
    expect((await answer(other.get('/.well-known/openid-configuration')))['backchannel_user_code_parameter_supported']).toBe(false)
  }) // prettier-ignore
})

describe('registration', () => {
  test.each([
    [{ backchannel_token_delivery_mode: 'push' }, 'cannot be push, which is not served: use ping, and fetch the tokens'],
    [{ backchannel_token_delivery_mode: 'mail' }, 'must be one of poll, ping'],
    [{ backchannel_token_delivery_mode: 'ping' }, 'backchannel_client_notification_endpoint is needed with ping'],
    [{ backchannel_client_notification_endpoint: 'http://app.example/' }, 'must use https'],
    [{ backchannel_authentication_request_signing_alg: 'ES256' }, 'needs jwks or jwks_uri'],
    [{ backchannel_authentication_request_signing_alg: 'none' }, 'backchannel_authentication_request_signing_alg'],
    [{ token_endpoint_auth_method: 'none', client_secret: undefined }, 'for a client that cannot authenticate'],
  ])('%j is refused', async (members, sentence) => {
    await expect(clients.create({ ...CALL_CENTRE, client_id: 'bad', ...members })).rejects.toThrow(sentence)
  }) // prettier-ignore

  test.each([
    ['fapi-2.0', 'backchannel_authentication_request_signing_alg must be one of PS256, ES256, EdDSA, Ed25519: the profile fapi-2.0 needs it'],
    ...rowsWith('latchkey-fapi-ciba', [['fapi-ciba', 'profile cannot be fapi-ciba without latchkey-mutual-tls and CLIENT_CERTIFICATE_HEADER, or MTLS_PORT']]),
  ])('under the profile %s what is needed is named', async (profile, sentence) => {
    const { client_secret: _secret, ...keyed } = of('held', { jwks, token_endpoint_auth_method: 'private_key_jwt', profile })
    await expect(clients.create(keyed)).rejects.toThrow(sentence)
  }) // prettier-ignore

  test('under fapi-2.0 it is served where it signs', async () => {
    const { client_secret: _secret, ...keyed } = of('held', { jwks, token_endpoint_auth_method: 'private_key_jwt', profile: 'fapi-2.0', backchannel_authentication_request_signing_alg: 'ES256' })
    await clients.create(keyed)
    const client_assertion = await assertionOf(key, 'held', server.url)
    const request = await signedRequest(key, 'held', server.url)
    const form = { request, client_assertion, client_assertion_type: ASSERTION_TYPE }
    expect(await answer(server.post(PATH, form))).toMatchObject({ status: 200 })
    await forget()
  }) // prettier-ignore

  test('under fapi-2.0 a login_hint_token is signed by its algorithms too (§5.4.1)', async () => {
    const { client_secret: _secret, ...keyed } = of('naming', { jwks, token_endpoint_auth_method: 'private_key_jwt', profile: 'fapi-2.0', backchannel_authentication_request_signing_alg: 'ES256' })
    await clients.create(keyed)
    const hinted = async (by: typeof key) => {
      const asked = { login_hint: undefined, login_hint_token: await loginHintToken(by, 'naming', server.url) }
      const proof = { client_assertion: await assertionOf(key, 'naming', server.url), client_assertion_type: ASSERTION_TYPE }
      return answer(server.post(PATH, { ...proof, request: await signedRequest(key, 'naming', server.url, asked) }))
    }
    expect(await hinted(rsa)).toMatchObject(invalid('invalid_request'))
    expect(await hinted(key)).toMatchObject({ status: 200 })
    await forget()
  }) // prettier-ignore

  test.runIf(isThere('latchkey-fapi-ciba')).each([
    [{ OIDC_PROFILE: 'fapi-ciba' }, 'OIDC_PROFILE fapi-ciba needs OIDC_CIBA=true.'],
    [{ OIDC_PROFILE: 'fapi-ciba', OIDC_CIBA: 'false' }, 'OIDC_CIBA must be true: OIDC_PROFILE fapi-ciba needs it.'],
    [{ OIDC_PROFILE: 'fapi-ciba', OIDC_CIBA: 'true' }, 'OIDC_PROFILE fapi-ciba needs latchkey-mutual-tls and CLIENT_CERTIFICATE_HEADER, or MTLS_PORT.'],
  ])('a server with %j does not start', async (settings, sentence) => {
    await expect(startServer(settings)).rejects.toThrow(sentence)
  }) // prettier-ignore

  test('on the command line, member by member', async () => {
    const { runJson } = commandsHere({ ...server.settings, LOG_LEVEL: 'error' }, 'client')
    const made = await runJson(
      'create', '--client-id', 'typed', '--grant-types', GRANT_TYPE, '--backchannel-token-delivery-mode', 'ping',
      '--backchannel-client-notification-endpoint', 'https://app.example/ciba', '--backchannel-user-code-parameter', 'true',
    )
    expect(made).toMatchObject({
      grant_types: [GRANT_TYPE], backchannel_token_delivery_mode: 'ping', backchannel_user_code_parameter: true,
      backchannel_client_notification_endpoint: 'https://app.example/ciba',
    })
  }) // prettier-ignore

  test('on the administration page', async () => {
    const agent = await signedIn(server)
    const form = {
      client_id: 'clicked', client_name: 'Bank', scope: 'read_books', grant_types: GRANT_TYPE, backchannel_token_delivery_mode: 'ping',
      backchannel_client_notification_endpoint: 'https://app.example/ciba',
    }
    const refused = await register(server, agent, 'service', { ...form, backchannel_client_notification_endpoint: '' })
    expect([refused.status, refused.body]).toEqual([400, expect.stringContaining('id="backchannel_client_notification_endpoint-error"')])
    expect((await register(server, agent, 'service', form)).status).toBe(200)
    expect(await clients.find('clicked')).toMatchObject({ grant_types: [GRANT_TYPE], backchannel_token_delivery_mode: 'ping' })
    expect((await openClient(server, agent, 'clicked')).body).toContain('It is told, and fetches its tokens (ping)')
  }) // prettier-ignore

  test('by themselves (RFC 7591) only with an initial access token that allows the grant', async () => {
    const open = await startServer({ ...CIBA_SETTINGS, OIDC_REGISTRATION: 'open' })
    const body = JSON.stringify({
      client_name: 'Bank', response_types: [], grant_types: [GRANT_TYPE], backchannel_token_delivery_mode: 'ping',
      backchannel_client_notification_endpoint: 'https://app.example/ciba',
    })
    const post = async (headers: Record<string, string> = {}) =>
      answer(open.request('/register', { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } }))
    expect(await post()).toMatchObject(invalid('invalid_client_metadata'))
    const { runJson } = commandsHere({ ...open.settings, LOG_LEVEL: 'error' }, 'initial-token')
    const { token } = (await runJson('create', 'banks', '--grant-types', GRANT_TYPE)) as Record<string, string>
    expect(await post({ authorization: `Bearer ${token}` })).toMatchObject({
      status: 201, grant_types: [GRANT_TYPE], backchannel_token_delivery_mode: 'ping',
    })
  }) // prettier-ignore
})

test('nobody approves by opening a link: without consent it is not served', async () => {
  await expect(startServer({ OIDC_CIBA: 'true', WITHOUT: 'latchkey-consent' })).rejects.toThrow(
    'OIDC_CIBA needs the plugin latchkey-consent, which is left out.',
  )
})

test.each([{}, { OIDC_CIBA: 'true', WITHOUT: 'latchkey-ciba' }])('with %j nothing is served, nor advertised', async (settings) => {
  const other = await startServer(settings, { seed: CIBA_SEED })
  const metadata = await answer(other.get('/.well-known/openid-configuration'))
  expect(Object.keys(metadata).filter((name) => /backchannel_(?!logout)/.test(name))).toEqual([])
  expect(metadata['grant_types_supported']).not.toContain(GRANT_TYPE)
  for (const path of [PATH, '/approve']) expect((await other.get(path)).status).toBe(404)
  expect(await poll(other, { auth_req_id: 'a' })).toMatchObject(invalid('unsupported_grant_type'))
}) // prettier-ignore
