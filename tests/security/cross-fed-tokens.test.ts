/**
 * Everything that this server gives out, handed in at every place that takes such a thing: each counts where it
 * belongs and nowhere else, and no forgery of it counts anywhere.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { createClient, introspect, statusWith, type TestClient } from '../support/clients.ts'
import { createDpopKey, prove } from '../support/dpop.ts'
import { forgeriesOf } from '../support/forged-jwts.ts'
import { basic, bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import {
  answerOf,
  authorizationUrl,
  authorize,
  exchange,
  getTokens,
  goThrough,
  refresh,
  SEED,
  WEB,
} from '../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../support/user-agent.ts'
import { CONSENT } from './forms.ts'

const web: TestClient = {
  clientId: 'web',
  clientSecret: WEB.client_secret,
  basic: basic('web', WEB.client_secret),
}
const SIGNED = {
  ...WEB,
  client_id: 'signed',
  userinfo_signed_response_alg: 'RS256',
  redirect_uris: [WEB.redirect_uri],
  redirect_uri: undefined,
}
const OPAQUE = { ...WEB, client_id: 'opaque', access_token_format: 'opaque' }
const server = await startServer(
  { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false },
  {
    seed: { ...SEED, clients: [WEB, SIGNED, OPAQUE] },
    extend: (app) => app.get('/read', { config: { scope: 'read_books' } }, async () => ({})),
  },
)
const SCOPE = { scope: 'openid read_books' }
const things: Record<string, string> = {}
let agent: UserAgent
let ofWeb: Awaited<ReturnType<typeof getTokens>>

beforeAll(async () => {
  agent = createUserAgent(server.url)
  ofWeb = await getTokens(server, SCOPE, agent)
  const tokensOf = async (client_id: string): Promise<Record<string, string>> => {
    const code = (await authorize(server, { ...SCOPE, client_id }, agent)).get('code')!
    const form = { grant_type: 'authorization_code', code, redirect_uri: WEB.redirect_uri }
    return (await (await server.post('/token', form, basic(client_id, WEB.client_secret))).json()) as Record<
      string,
      string
    >
  }
  const [signed, opaque] = [await tokensOf('signed'), await tokensOf('opaque')]
  const consent = await CONSENT.open(server, agent)
  const service = await createClient(server, { scope: ['read_books'] })
  const own = (await (
    await server.post('/token', { grant_type: 'client_credentials' }, service.basic)
  ).json()) as Record<string, string>
  const key = await createDpopKey()
  Object.assign(things, {
    'DPoP proof': await prove(key, { method: 'POST', url: `${server.url}/token` }),
    'access token': ofWeb.access_token,
    'opaque access token': opaque['access_token'],
    'ID token': ofWeb.id_token,
    'refresh token': ofWeb.refresh_token,
    "another client's ID token": signed['id_token'],
    "another client's refresh token": signed['refresh_token'],
    'signed userinfo': await (await server.get('/userinfo', bearer(signed['access_token']!))).text(),
    "a service's own token": own['access_token'],
    code: (await authorize(server, SCOPE, agent)).get('code'),
    "another client's code": (await authorize(server, { ...SCOPE, client_id: 'signed' }, agent)).get('code'),
    'session cookie': agent.cookies.get('latchkey-session'),
    'browser cookie': agent.cookies.get('latchkey-browser'),
    'CSRF token': consent.fields['csrf_token'],
    'interaction id': new URL(consent.action).pathname.split('/').at(-2),
    'sealed interaction': new URL(consent.action).searchParams.get('request'),
    'client secret': WEB.client_secret,
    sid: (JSON.parse(Buffer.from(ofWeb.id_token.split('.')[1]!, 'base64url').toString()) as { sid: string })
      .sid,
  })
})

/** The places, and what each takes; a place tells whether it took. */
const PLACES: Record<string, { takes: string[]; tries(thing: string): Promise<boolean> }> = {
  userinfo: {
    takes: ['access token', 'opaque access token'],
    tries: async (thing) => (await server.get('/userinfo', bearer(thing))).status === 200,
  },
  'userinfo, by query': {
    takes: ['access token', 'opaque access token'],
    tries: async (thing) => (await server.get(`/userinfo?access_token=${thing}`)).status === 200,
  },
  'a guarded route': {
    takes: ['access token', 'opaque access token', "a service's own token"],
    tries: async (thing) => (await statusWith(server, '/read', thing)) === 200,
  },
  introspection: {
    takes: ['access token'],
    tries: async (thing) => (await introspect(server, web, thing))['active'] === true,
  },
  'the proof of a key': {
    takes: ['DPoP proof'],
    async tries(thing) {
      const form = { grant_type: 'client_credentials', scope: 'read_books' }
      return (await server.post('/token', form, { ...web.basic, dpop: thing })).status === 200
    },
  },
  'the code of a grant': {
    takes: [],
    tries: async (thing) => thing !== things['code'] && (await exchange(server, thing)).status === 200,
  },
  'the refresh token of a grant': {
    takes: [],
    tries: async (thing) =>
      thing !== things['refresh token'] && (await refresh(server, thing)).status === 200,
  },
  'id_token_hint of a request': {
    takes: ['ID token'],
    async tries(thing) {
      const url = authorizationUrl(server, { ...SCOPE, id_token_hint: thing, prompt: 'none' })
      return answerOf(await agent.clone().get(url)).has('code')
    },
  },
  'id_token_hint at sign-out': {
    // Anybody's of this user: sign-out knows no client but by it.
    takes: ['ID token', "another client's ID token"],
    async tries(thing) {
      const other = createUserAgent(server.url)
      await goThrough(other, await other.get(authorizationUrl(server)))
      const { body } = await other.get(`${server.url}/end-session?id_token_hint=${encodeURIComponent(thing)}`)
      return body.includes('id="signed-out"')
    },
  },
  'the session of a browser': {
    takes: ['session cookie'],
    async tries(thing) {
      const other = createUserAgent(server.url)
      other.cookies.set('latchkey-session', thing)
      const page = await other.get(authorizationUrl(server, { prompt: 'none' }))
      return answerOf(page).get('error') !== 'login_required'
    },
  },
  'an interaction': {
    takes: ['sealed interaction'],
    tries: async (thing) => {
      const at = `${server.url}/interaction/${things['interaction id']}?request=${encodeURIComponent(thing)}`
      return (await agent.clone().get(at)).status === 200
    },
  },
}

test.each(Object.entries(PLACES))('%s', async (_place, { takes, tries }) => {
  const taken: string[] = []
  for (const [name, thing] of Object.entries(things)) if (await tries(thing)) taken.push(name)
  expect(taken).toEqual(takes)
})

test('revocation takes none of it for another, and harms nothing that it does not name', async () => {
  const others = Object.entries(things).filter(([name]) => !['access token', 'refresh token'].includes(name))
  for (const [name, token] of others) {
    const { status } = await server.post('/revoke', { token }, web.basic)
    expect([name, [200, 400].includes(status)]).toEqual([name, true])
  }
  expect(await PLACES['userinfo']!.tries(things['access token']!)).toBe(true)
  expect(await PLACES['userinfo']!.tries(things['opaque access token']!)).toBe(true)
  expect(await PLACES['the session of a browser']!.tries(things['session cookie']!)).toBe(true)
})

describe('forgeries', () => {
  const keyOf = (algorithm: string) => kernelOf(server.server).keys.signer(algorithm)

  test('of an access token open neither userinfo nor a route, and are inactive', async () => {
    const claims = ['iss', 'sub', 'client_id', 'jti', 'iat', 'exp', 'aud']
    for (const [name, forged] of Object.entries(await forgeriesOf(ofWeb.access_token, keyOf('ES256'), claims)))
      for (const place of ['userinfo', 'userinfo, by query', 'a guarded route'])
        expect([name, place, await PLACES[place]!.tries(forged)]).toEqual([name, place, false])
  })

  test('of an ID token are no hint, neither to sign in nor to sign out', async () => {
    const claims = ['iss', 'sub', 'aud', 'iat', 'exp']
    for (const [name, forged] of Object.entries(await forgeriesOf(ofWeb.id_token, keyOf('RS256'), claims)))
      for (const place of ['id_token_hint of a request', 'id_token_hint at sign-out'])
        expect([name, place, await PLACES[place]!.tries(forged)]).toEqual([name, place, false])
  })

  test('at last: what was forged here was good all the time', async () => {
    for (const place of ['userinfo', 'a guarded route', 'introspection'])
      expect([place, await PLACES[place]!.tries(ofWeb.access_token)]).toEqual([place, true])
    expect((await exchange(server, things['code']!)).status).toBe(200)
    expect((await refresh(server, things['refresh token']!)).status).toBe(200)
  })
}) // prettier-ignore
