/** Answers in another form, for who wants them so: ours and those of endpoints of others, one form over the other. */
import { CompactEncrypt, decodeJwt, decodeProtectedHeader, generateKeyPair } from 'jose'
import * as client from 'openid-client'
import { expect, test } from 'vitest'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { answer, OAuthError, type RepresentedCall } from '../../src/index.ts'
import { createClient, getToken } from '../support/clients.ts'
import { bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { authorizationUrl, getTokens, goThrough, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const PARCEL = 'application/parcel'

/** Two forms for who accepts parcels: turned round, and then put between brackets. */
function addForms({ oauth }: FastifyInstance): void {
  const open = { caller: 'anybody', body: 'form', method: 'GET', parameters: Type.Object({}) } as const
  oauth.registerEndpoint({ ...open, path: '/shelf', handle: async () => ({ books: 2 }) })
  oauth.registerEndpoint({
    ...open,
    path: '/made',
    handle: async () => answer({ status: 201, headers: { location: '/made/1' }, body: { made: 1 } }),
  })
  oauth.registerEndpoint({ ...open, path: '/out', handle: async () => ({ made: 2 }) })
  oauth.registerEndpoint({ ...open, path: '/list', handle: async () => answer({ body: [1, 2] }) })
  oauth.registerEndpoint({
    ...open,
    path: '/text',
    handle: async () => answer({ body: 'a', type: 'text/a' }),
  })
  oauth.registerEndpoint({ ...open, path: '/none', handle: async () => answer({}) })
  oauth.registerEndpoint({
    ...open,
    path: '/bad',
    async handle() {
      throw new OAuthError('invalid_request', 'no')
    },
  })
  for (const path of [
    '/shelf',
    '/made',
    '/out',
    '/list',
    '/text',
    '/none',
    '/bad',
    '/introspect',
    '/userinfo',
  ] as const) {
    const applies = ({ request }: RepresentedCall): boolean => request.headers.accept === PARCEL
    oauth.add('representation', {
      name: `turned ${path}`,
      of: path,
      applies,
      render: async ({ text, type }) => ({ text: text.split('').toReversed().join(''), type }),
    })
    oauth.add('representation', {
      name: `packed ${path}`,
      of: path,
      applies,
      async render({ body, text, type }, { client }) {
        if (body['made'] === 2) throw new OAuthError('temporarily_unavailable', 'no paper', { status: 503 })
        return { text: `[${text}] for ${client?.clientId ?? 'you'}, was ${type}`, type: PARCEL }
      },
    })
  }
}

const { publicKey, privateKey } = await generateKeyPair('RSA-OAEP-256')

/** ID tokens that are encrypted to who is registered for it. */
function addSealed({ oauth }: FastifyInstance): void {
  oauth.extendClientMetadata(Type.Object({ seals_id_tokens: Type.Optional(Type.Boolean()) }))
  oauth.add('representation', {
    name: 'sealed_id_token',
    of: 'id_token',
    applies: (call) => call.client?.metadata['seals_id_tokens'] === true,
    async render({ text, type, body }) {
      const header = { alg: 'RSA-OAEP-256', enc: 'A256GCM', cty: type, aud: String(body['aud']) }
      const jwe = new CompactEncrypt(new TextEncoder().encode(text)).setProtectedHeader(header)
      return { text: await jwe.encrypt(publicKey), type }
    },
  })
}

const SIGNED = { ...WEB, userinfo_signed_response_alg: 'ES256' }
const server = await startServer(
  { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false },
  {
    seed: { ...SEED, clients: [SIGNED, { ...WEB, client_id: 'sealed', seals_id_tokens: true }] },
    extend(instance) {
      addForms(instance)
      addSealed(instance)
    },
  },
)
const parcel = async (path: string) => server.get(path, { accept: PARCEL })

test('each form is laid over the one before, with the status and headers of the answer; others get JSON', async () => {
  const plain = await server.get('/shelf')
  expect([plain.headers.get('content-type'), await plain.json()]).toEqual(['application/json', { books: 2 }])
  const packed = await parcel('/shelf')
  expect(Object.fromEntries(packed.headers)).toMatchObject({ 'content-type': PARCEL, 'cache-control': 'no-store' }) // prettier-ignore
  expect(await packed.text()).toBe('[}2:"skoob"{] for you, was application/json')
  const made = await parcel('/made')
  expect([made.status, made.headers.get('location'), await made.text()]).toEqual([
    201,
    '/made/1',
    '[}1:"edam"{] for you, was application/json',
  ])
})

test.each([
  ['/list', 200, '[1,2]'],
  ['/text', 200, 'a'],
  ['/none', 204, ''],
  ['/bad', 400, '{"error":"invalid_request","error_description":"no"}'],
])('what has no members, and an error, stays as it is: %s', async (path, status, text) => {
  const response = await parcel(path)
  expect([response.status, await response.text()]).toEqual([status, text])
})

test('a form that cannot be made is the error that is answered', async () => {
  const response = await parcel('/out')
  expect([response.status, await response.json()]).toMatchObject([503, { error: 'temporarily_unavailable' }])
})

test('introspection is for its caller', async () => {
  const caller = await createClient(server, { scope: ['read'] })
  const { access_token: token } = await getToken(server, caller)
  const asked = async (headers: Record<string, string>) =>
    server.post('/introspect', { token }, { ...caller.basic, ...headers })
  expect(await (await asked({})).json()).toMatchObject({ active: true })
  const text = await (await asked({ accept: PARCEL })).text()
  expect(text).toMatch(/^\[\}/)
  expect(text).toContain(` for ${caller.clientId}, was application/json`)
})

test('what is ours comes first: userinfo that a client has signed is packed signed', async () => {
  const { access_token: token } = await getTokens(server)
  const signed = await server.get('/userinfo', bearer(token))
  expect(signed.headers.get('content-type')).toBe('application/jwt')
  expect(signed.headers.get('cache-control')).toBe('no-store')
  const jwt = await signed.text()
  expect(decodeProtectedHeader(jwt)).toMatchObject({ alg: 'ES256', typ: 'JWT' })
  expect(decodeJwt(jwt)).toMatchObject({ iss: server.url, aud: WEB.client_id })
  const packed = await (await server.get('/userinfo', { ...bearer(token), accept: PARCEL })).text()
  const [, turned] = /^\[(.*)\] for web, was application\/jwt$/.exec(packed)!
  expect(decodeJwt(turned!.split('').toReversed().join(''))).toMatchObject({ aud: WEB.client_id })
})

test('an ID token is encrypted over its signature, for openid-client to take; who wants none gets it as ever', async () => {
  const config = await client.discovery(
    new URL(server.url),
    'sealed',
    {},
    client.ClientSecretBasic(WEB.client_secret),
    { execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks] },
  )
  client.enableDecryptingResponses(config, ['A256GCM'], privateKey)
  const agent = createUserAgent(server.url)
  const page = await goThrough(agent, await agent.get(authorizationUrl(server, { client_id: 'sealed' })))
  const callback = new URL(page.headers.get('location')!)
  const tokens = await client.authorizationCodeGrant(config, callback, { expectedState: 'a state' })
  expect(decodeProtectedHeader(tokens.id_token!)).toEqual({ alg: 'RSA-OAEP-256', enc: 'A256GCM', cty: 'JWT', aud: 'sealed' }) // prettier-ignore
  expect(tokens.claims()).toMatchObject({ aud: 'sealed', at_hash: expect.any(String) as string })
  expect(decodeProtectedHeader((await getTokens(server)).id_token)).toMatchObject({ alg: 'RS256' })
})

test('a form has a name of its own', async () => {
  const again = startServer(
    {},
    {
      extend({ oauth }) {
        const form = { name: 'signed_userinfo', of: '/userinfo' } as const
        oauth.add('representation', { ...form, applies: () => true, render: async (made) => made })
      },
    },
  )
  await expect(again).rejects.toThrow('The representation signed_userinfo is taken.')
})
