/** Request objects (RFC 9101, OpenID Connect Core §6): what is believed of one, what is not read, and what is refused. */
import { createPrivateKey } from 'node:crypto'
import { exportJWK, UnsecuredJWT } from 'jose'
import { describe, expect, onTestFinished, test } from 'vitest'
import { assertionOf, createAssertionKey, inSeconds } from '../../../support/client-assertions.ts'
import { passTime, stopClock } from '../../../support/clocks.ts'
import { createDpopKey, prove } from '../../../support/dpop.ts'
import { forgeriesOf } from '../../../support/forged-jwts.ts'
import { addressOf, INSIDE, requestObject, signingApp } from '../../../support/request-objects.ts'
import { startReceiver } from '../../../support/receiver.ts'
import { basic } from '../../../support/requests.ts'
import { startServer } from '../../../support/server.ts'
import { answerOf, exchange, goThrough, REDIRECT_URI, SEED, WEB } from '../../../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../../../support/user-agent.ts'

const key = await createAssertionKey()
const rsa = await createAssertionKey('two', 'PS256')
let document = ''
let isDown = false
const host = await startReceiver(({ url }, response) => {
  if (url === '/away') response.statusCode = 404
  if (isDown) response.statusCode = 503
  response.end(document)
})
const at = `http://127.0.0.1:${host.port}`
const URIS = [
  `${at}/request.jwt`,
  `${at}/away`,
  'https://127.0.0.1:9/private',
  `${at}/hashed#one`,
  `${at}/failing.jwt`,
]
const seed = {
  ...SEED,
  clients: [
    WEB,
    signingApp('app', { jwk: key.jwk }, { jwks: { keys: [key.jwk, rsa.jwk] }, request_uris: URIS }),
    signingApp('strict', key, { require_signed_request_object: true }),
    signingApp('es256', key, { request_object_signing_alg: 'ES256' }),
    signingApp('ps256', { jwk: key.jwk }, { jwks: { keys: [key.jwk, rsa.jwk] }, request_object_signing_alg: 'PS256' }),
    signingApp('bounded', key),
    { ...WEB, client_id: 'unsigned', request_object_signing_alg: 'none' },
  ],
} // prettier-ignore
const server = await startServer({ UNSAFE_OUTBOUND_ORIGINS: at }, {
  seed,
  extend({ oauth }) {
    oauth.add('requestObjectRule', {
      name: 'bounded',
      narrow: ({ clientId }) => (clientId === 'bounded' ? { algorithms: ['ES256'], longest: 3600 } : undefined),
    })
  },
}) // prettier-ignore
const { url } = server

const objectOf = async (claims: object = {}, header: object = {}, client = 'app'): Promise<string> =>
  requestObject(key, client, url, claims, header)

/** `sign-in`, the error that the app is told, or the one on a page. */
async function told(client: string, parameters: Readonly<Record<string, string>>): Promise<string> {
  const response = await server.get(addressOf(client, parameters))
  const location = response.headers.get('location')
  const body = await response.text()
  if (location === null) return `page ${/id="error-code">([^<]*)/.exec(body)?.[1]}`
  return location.startsWith('/') ? 'sign-in' : (new URL(location).searchParams.get('error') ?? 'code')
}
const ask = async (claims: object = {}, header: object = {}, client = 'app'): Promise<string> =>
  told(client, { request: await objectOf(claims, header, client) })

test('what is inside counts, and nothing that stands beside it', async () => {
  const agent = createUserAgent(url)
  const request = await objectOf({ client_id: 'web', iss: 'web' }, {}, 'web')
  expect(await told('web', { request })).toBe('page invalid_request_object')
  const beside = { scope: 'openid email', state: 'outside', redirect_uri: 'https://evil.example/', prompt: 'none' }
  const path = addressOf('app', { request: await objectOf({ scope: 'openid profile' }), ...beside })
  const answer = answerOf(await goThrough(agent, await agent.get(url + path)))
  expect(answer.get('state')).toBe('inside')
  const form = { grant_type: 'authorization_code', code: answer.get('code')!, redirect_uri: REDIRECT_URI }
  const response = await server.post('/token', form, basic('app', WEB.client_secret))
  expect(await response.json()).toMatchObject({ scope: 'openid profile' })
}) // prettier-ignore

test('what is outside alone is not there', async () => {
  for (const name of ['redirect_uri', 'response_type', 'scope'] as const) {
    const request = await objectOf({ [name]: undefined })
    const error = { redirect_uri: 'page invalid_request', response_type: 'invalid_request', scope: 'invalid_scope' }
    expect([name, await told('app', { ...INSIDE, request })]).toEqual([name, error[name]])
  }
  const agent = createUserAgent(url)
  const path = addressOf('app', { ...INSIDE, request: await objectOf({ state: undefined }) })
  expect(answerOf(await goThrough(agent, await agent.get(url + path))).has('state')).toBe(false)
}) // prettier-ignore

test('members that are no text are parameters too', async () => {
  const claims = { userinfo: { email: { essential: true } } }
  expect(await ask({ claims, max_age: 100, resource: url, prompt: null, unknown: [1, { a: true }] })).toBe('sign-in')
  expect(await ask({ resource: [url, url] })).toBe('sign-in')
  expect(await ask({ resource: 'https://nowhere.example/' })).toBe('invalid_target')
  expect(await ask({ claims: [1] })).toBe('invalid_request')
  expect(await ask({ max_age: -1 })).toBe('invalid_request')
  expect(await ask({ state: { toString: 'x' } })).toBe('sign-in')
}) // prettier-ignore

test('its languages are those of the pages', async () => {
  const page = await createUserAgent(url).get(url + addressOf('app', { request: await objectOf({ ui_locales: 'de' }) }))
  expect(page.body).toContain('<html lang="de">')
}) // prettier-ignore

describe('a request object', () => {
  test.each([
    ['without iss and aud', { iss: undefined, aud: undefined }],
    ['without times', { exp: undefined, nbf: undefined }],
    ['that is good for long', { exp: inSeconds(1e7) }],
    ['for others too', { aud: ['https://other.example', server.url] }],
    ['made by a clock that is ahead by 8 seconds', { nbf: inSeconds(8), iat: inSeconds(8) }],
    ['with a jti', { jti: 'once' }],
    ['of nobody in particular', { sub: 'somebody' }],
  ])('%s is good', async (_what, claims) => {
    expect(await ask(claims)).toBe('sign-in')
  })

  test.each([
    ['that has expired', { exp: inSeconds(-60) }],
    ['that is not good yet', { nbf: inSeconds(3600) }],
    ['that is made in the future', { iat: inSeconds(3600) }],
    ['for somebody else', { aud: 'https://other.example' }],
    ['for the issuer with a slash more', { aud: `${server.url}/` }],
    ['for a number', { aud: 7 }],
    ['for nobody', { aud: [] }],
    ['of another issuer', { iss: 'web' }],
    ['of another client', { client_id: 'web' }],
    ['of no client', { client_id: undefined }],
    ['of a client that is a list', { client_id: ['app'] }],
    ['that could prove who the client is (RFC 9101 section 10.8)', { sub: 'app' }],
    ['in which there is another', { request: 'x.y.z' }],
    ['that leads to another', { request_uri: 'https://app.example/request' }],
    ['with an expiry that is a text', { exp: '9999999999' }],
    ['with a jti that is none', { jti: {} }],
  ])('%s is refused', async (_what, claims) => {
    expect(await ask(claims)).toBe('page invalid_request_object')
    const request = await objectOf(claims)
    expect(await told('app', { request, redirect_uri: REDIRECT_URI })).toBe('invalid_request_object')
  })

  test.each([
    ['JWT', 'sign-in'], ['jwt', 'sign-in'], [undefined, 'sign-in'], ['application/oauth-authz-req+jwt', 'sign-in'],
    ['at+jwt', 'page invalid_request_object'], ['dpop+jwt', 'page invalid_request_object'],
    ['client-authentication+jwt', 'page invalid_request_object'], ['logout+jwt', 'page invalid_request_object'],
  ])('of typ %s: %s', async (typ, answer) => {
    expect(await ask({}, { typ })).toBe(answer)
  }) // prettier-ignore

  test('may come in a form, and with it in the address twice is refused', async () => {
    const request = await objectOf()
    const posted = await server.post('/authorize', { client_id: 'app', request })
    expect([posted.status, posted.headers.get('location')]).toEqual([303, expect.stringMatching(/^\/interaction\//)])
    const twice = `${addressOf('app', { request, redirect_uri: REDIRECT_URI })}&request=${request}`
    expect((await server.get(twice)).headers.get('location')).toContain('error=invalid_request&')
    const both = { request, request_uri: URIS[0]!, redirect_uri: REDIRECT_URI }
    expect(await told('app', both)).toBe('invalid_request')
    const long = await server.post('/authorize', { client_id: 'app', request: 'x'.repeat(16_385), redirect_uri: REDIRECT_URI })
    expect(long.headers.get('location')).toContain('error=invalid_request&')
  }) // prettier-ignore

  test('that proves who a client is, or that it holds a key, is no request', async () => {
    for (const jwt of [
      await assertionOf(key, 'app', url),
      await assertionOf(key, 'app', url, { client_id: 'app', ...INSIDE }),
      await prove(await createDpopKey(), { method: 'GET', url: `${url}/authorize` }),
    ])
      expect(await told('app', { request: jwt })).toBe('page invalid_request_object')
  })

  test('proves nothing at the token endpoint', async () => {
    const response = await server.post('/token', {
      grant_type: 'client_credentials',
      client_id: 'app',
      client_assertion: await objectOf(),
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    })
    expect(response.status).toBe(401)
  })
})

/** One is good that says which of the keys it is signed by, and one that does not. */
const NO_FORGERY = new Set(['no kid'])

test('no forgery is taken', async () => {
  const jwk = (await exportJWK(key.privateKey)) as { kty: string }
  const forger = { privateKey: createPrivateKey({ key: jwk, format: 'jwk' }), publicJwk: key.jwk }
  const forgeries = Object.entries(await forgeriesOf(await objectOf(), forger, ['client_id']))
  for (const [what, request] of forgeries.filter(([what]) => !NO_FORGERY.has(what)))
    expect([what, await told('es256', { request })]).toEqual([what, 'page invalid_request_object'])
  for (const [what, request] of forgeries.filter(([what]) => !NO_FORGERY.has(what)))
    expect([what, await told('app', { request })]).toEqual([
      what,
      expect.stringMatching(/^page (?:invalid_request_object|request_not_supported)$/),
    ])
})

describe('what a client has registered', () => {
  test('is the algorithm', async () => {
    const withRsa = async (client: string) => told(client, { request: await requestObject(rsa, client, url) })
    expect(await ask({}, {}, 'es256')).toBe('sign-in')
    expect(await withRsa('es256')).toBe('page invalid_request_object')
    expect(await withRsa('ps256')).toBe('sign-in')
    expect(await ask({}, {}, 'ps256')).toBe('page invalid_request_object')
    expect(await withRsa('app')).toBe('sign-in')
  })

  test('is that none are signed, and then they may be', async () => {
    const of = (client: string, claims: object = {}) =>
      new UnsecuredJWT({ client_id: client, ...INSIDE, ...claims }).encode()
    expect(await told('unsigned', { request: of('unsigned') })).toBe('sign-in')
    expect(await told('unsigned', { request: of('app') })).toBe('page invalid_request_object')
    expect(await told('unsigned', { request: of('unsigned', { exp: inSeconds(-60) }) })).toBe(
      'page invalid_request_object',
    )
    expect(await told('unsigned', { request: `${of('unsigned')}x` })).toBe('page invalid_request_object')
    expect(await told('app', { request: of('app') })).toBe('page request_not_supported')
    expect(await told('es256', { request: of('es256') })).toBe('page invalid_request_object')
    expect(await told('strict', { request: of('strict') })).toBe('page invalid_request_object')
  })

  test('is that all are signed', async () => {
    expect(await told('strict', INSIDE)).toBe('invalid_request')
    expect(await ask({}, {}, 'strict')).toBe('sign-in')
    const pushed = await server.post('/par', INSIDE, basic('strict', WEB.client_secret))
    expect([pushed.status, await pushed.json()]).toMatchObject([400, { error: 'invalid_request' }])
  })

  test('is refused where it contradicts itself', async () => {
    const { clients } = server.server.oauth
    const create = async (more: object) => clients.create({ redirect_uri: REDIRECT_URI, ...more })
    const jwks = { keys: [key.jwk] }
    for (const [more, words] of [
      [{ require_signed_request_object: true }, 'needs jwks or jwks_uri'],
      [{ require_signed_request_object: true, jwks, request_object_signing_alg: 'none' }, 'none is no signature'],
      [{ request_object_signing_alg: 'HS256' }, 'request_object_signing_alg'],
      [{ request_uris: ['ftp://app.example/'] }, 'request_uris must be an absolute http or https URL'],
      [{ request_uris: ['requests/1'] }, 'request_uris must be an absolute http or https URL'],
      [{ request_uris: 'https://app.example/' }, 'request_uris'],
    ] as const)
      await expect(create(more)).rejects.toThrow(words)
  }) // prettier-ignore

  test('everybody may have to', async () => {
    const all = await startServer({ OIDC_REQUIRE_SIGNED_REQUEST_OBJECT: true }, { seed })
    const metadata = (await (await all.get('/.well-known/openid-configuration')).json()) as object
    expect(metadata).toHaveProperty('require_signed_request_object', true)
    const plain = await all.get(addressOf('app', INSIDE))
    expect(plain.headers.get('location')).toContain('error=invalid_request')
    const signed = await all.get(addressOf('app', { request: await requestObject(key, 'app', all.url) }))
    expect(signed.headers.get('location')).toMatch(/^\/interaction\//)
    const unsigned = new UnsecuredJWT({ client_id: 'unsigned', ...INSIDE }).encode()
    expect((await all.get(addressOf('unsigned', { request: unsigned }))).status).toBe(400)
  })
})

test('a rule bounds them, as FAPI 2.0 Message Signing has it', async () => {
  const anHour = { nbf: inSeconds(-3500), exp: inSeconds(100) }
  for (const [claims, answer] of [
    [{}, 'sign-in'],
    [anHour, 'sign-in'],
    [{ nbf: inSeconds(8) }, 'sign-in'],
    [{ exp: undefined }, 'page invalid_request_object'],
    [{ nbf: undefined }, 'page invalid_request_object'],
    [{ aud: undefined }, 'page invalid_request_object'],
    [{ exp: inSeconds(3700) }, 'page invalid_request_object'],
    [{ nbf: inSeconds(-3700) }, 'page invalid_request_object'],
  ] as const)
    expect([claims, await ask(claims, {}, 'bounded')]).toEqual([claims, answer])
  expect(await told('bounded', { request: await requestObject(rsa, 'bounded', url) })).toBe(
    'page invalid_request_object',
  )
})

describe('pushed (RFC 9126 section 3)', () => {
  const push = async (request: string, more: object = {}) =>
    server.post('/par', { request, ...more }, basic('strict', WEB.client_secret))

  test('it is opened when it is pushed, and may have expired when the browser comes', async () => {
    const response = await push(await objectOf({ exp: inSeconds(1) }, {}, 'strict'), { state: 'outside' })
    expect(response.status).toBe(201)
    const { request_uri } = (await response.json()) as { request_uri: string }
    await expect
      .poll(async () => (await push(await objectOf({ exp: inSeconds(-10) }, {}, 'strict'))).status)
      .toBe(400)
    const agent = createUserAgent(url)
    const page = await goThrough(agent, await agent.get(url + addressOf('strict', { request_uri })))
    expect(answerOf(page).get('state')).toBe('inside')
    expect(await told('strict', { request_uri })).toBe('page invalid_request_uri')
  })

  test('what is refused of one is refused there', async () => {
    for (const request of [
      await objectOf({ client_id: 'app' }, {}, 'strict'),
      await objectOf({ exp: inSeconds(-60) }, {}, 'strict'),
      await objectOf({ request_uri: 'https://app.example/' }, {}, 'strict'),
      new UnsecuredJWT({ client_id: 'strict', ...INSIDE }).encode(),
      'x',
    ]) {
      const response = await push(request)
      expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_request_object' }])
    }
    const both = await push(await objectOf({}, {}, 'strict'), { request_uri: URIS[0] })
    expect([both.status, await both.json()]).toMatchObject([400, { error: 'invalid_request' }])
  }) // prettier-ignore

  test('a key that is shown beside it counts, and must be the one that it names', async () => {
    const dpop = await createDpopKey()
    const pushWith = async (claims: object) => {
      const proof = await prove(dpop, { method: 'POST', url: `${url}/par` })
      const headers = { ...basic('strict', WEB.client_secret), dpop: proof }
      return (await server.post('/par', { request: await objectOf(claims, {}, 'strict') }, headers)).status
    }
    expect(await pushWith({})).toBe(201)
    expect(await pushWith({ dpop_jkt: dpop.thumbprint })).toBe(201)
    expect(await pushWith({ dpop_jkt: key.jwk.x })).toBe(400)
  })
})

describe('by reference', () => {
  const askAt = async (request_uri: string, client = 'app'): Promise<string> =>
    told(client, { request_uri, redirect_uri: REDIRECT_URI })

  test('it is read at a registered address, and nowhere else', async () => {
    document = await objectOf()
    const before = host.received.length
    expect(await askAt(URIS[0]!)).toBe('sign-in')
    expect(host.received.slice(before)).toMatchObject([{ method: 'GET', url: '/request.jwt' }])
    expect(await askAt(`${URIS[0]!}#changed`)).toBe('sign-in')
    for (const other of [`${at}/other.jwt`, `${URIS[0]!}?x`, `${URIS[0]!}/`, at, `${at}/hashed`, `${at}/hashed#two`])
      expect([other, await askAt(other)]).toEqual([other, 'invalid_request_uri'])
    expect(await askAt(URIS[0]!, 'web')).toBe('request_uri_not_supported')
    for (const nowhere of ['urn:example:x', 'file:///etc/passwd', 'x', 'javascript:alert(1)'])
      expect([nowhere, await askAt(nowhere)]).toEqual([nowhere, 'request_uri_not_supported'])
    expect(host.received.every(({ url: path }) => path === '/request.jwt')).toBe(true)
  }) // prettier-ignore

  test('what stands behind # is another document: what was told a moment ago is not taken for it', async () => {
    document = await objectOf()
    expect(await askAt(`${URIS[0]!}#one`)).toBe('sign-in')
    document = await objectOf({ redirect_uri: 'https://app.example/none' })
    expect(await askAt(`${URIS[0]!}#two`)).toBe('page invalid_request')
    document = await objectOf()
    expect(await askAt(`${URIS[0]!}#three`)).toBe('sign-in')
  })

  test('a failure is told of whatever stands behind #, and is not tried again at once', async () => {
    const fresh = await startServer({ UNSAFE_OUTBOUND_ORIGINS: at }, { seed })
    const before = host.received.length
    await stopClock(async () => {
      for (const part of ['one', 'two', 'one']) {
        const answer = await fresh.get(addressOf('app', { request_uri: `${URIS[1]!}#${part}`, redirect_uri: REDIRECT_URI }))
        expect(new URL(answer.headers.get('location')!).searchParams.get('error')).toBe('invalid_request_uri')
      }
    })
    expect(host.received.length - before).toBe(1)
  }) // prettier-ignore

  test('one of before is not served while its host fails', async () => {
    document = await objectOf()
    expect(await askAt(URIS[4]!)).toBe('sign-in')
    isDown = true
    onTestFinished(() => void (isDown = false))
    expect(await askAt(URIS[4]!)).toBe('sign-in')
    passTime(30_000)
    expect(await askAt(URIS[4]!)).toBe('invalid_request_uri')
  })

  test('an address that does not answer, or is of a private network, is refused', async () => {
    expect(await askAt(URIS[1]!)).toBe('invalid_request_uri')
    expect(await askAt(URIS[2]!)).toBe('invalid_request_uri')
  })

  test('what is found there is judged as any', async () => {
    for (const [text, error] of [
      ['<!doctype html>', 'invalid_request_object'],
      [await objectOf({ client_id: 'web' }), 'invalid_request_object'],
      [new UnsecuredJWT({ client_id: 'app', ...INSIDE }).encode(), 'request_uri_not_supported'],
      ['x'.repeat(70_000), 'invalid_request_uri'],
    ] as const) {
      document = text
      const one = await startServer({ UNSAFE_OUTBOUND_ORIGINS: at }, { seed })
      const response = await one.get(addressOf('app', { request_uri: URIS[0]!, redirect_uri: REDIRECT_URI }))
      expect([error, response.headers.get('location')]).toEqual([error, expect.stringContaining(`error=${error}&`)])
      await one.close()
    }
  }) // prettier-ignore
})

test('where all must be signed from now on, one that is not is refused whose page is open', async () => {
  const { clients } = server.server.oauth
  const uri = `${at}/late.jwt`
  await clients.create({ ...WEB, client_id: 'late', request_object_signing_alg: 'none', request_uris: [uri] })
  const request = new UnsecuredJWT({ client_id: 'late', ...INSIDE }).encode()
  document = request
  const pushed = await server.post('/par', { request }, basic('late', WEB.client_secret))
  const { request_uri } = (await pushed.json()) as { request_uri: string }
  const open: [UserAgent, Page][] = []
  for (const wire of [{ request }, { request_uri: uri }, { request_uri }]) {
    const agent = createUserAgent(url)
    open.push([agent, await agent.get(url + addressOf('late', wire))])
  }
  const signed = { require_signed_request_object: true, request_object_signing_alg: 'ES256' }
  await clients.update('late', { ...signed, jwks: { keys: [key.jwk] } })
  for (const [agent, page] of open)
    expect(answerOf(await goThrough(agent, page)).get('error')).toBe('invalid_request')
})

test('left out, requests stay as they were', async () => {
  const less = await startServer({ WITHOUT: 'latchkey-jar' }, { seed: SEED })
  const metadata = (await (await less.get('/.well-known/openid-configuration')).json()) as object
  expect(metadata).toMatchObject({
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
  })
  const refused = await less.get(addressOf('web', { ...INSIDE, request: 'x.y.z' }))
  expect(refused.headers.get('location')).toContain('error=request_not_supported')
  const agent = createUserAgent(less.url)
  const page = await agent.get(less.url + addressOf('web', INSIDE))
  expect(findForm(page, 'login')).toBeDefined()
  expect((await exchange(less, answerOf(await goThrough(agent, page)).get('code')!)).status).toBe(200)
})
