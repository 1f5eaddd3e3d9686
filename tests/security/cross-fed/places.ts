/** Every place that takes one of these things, and what it takes; a place tells whether it took. */
import { call } from '../../support/ciba.ts'
import { prove, createDpopKey } from '../../support/dpop.ts'
import { ASSERTION_TYPE } from '../../support/client-assertions.ts'
import { introspect, statusWith } from '../../support/clients.ts'
import { ask as end, bySubject } from '../../support/global-token-revocation.ts'
import { addressWith } from '../../support/pushed.ts'
import { addressOf } from '../../support/request-objects.ts'
import { basic, bearer } from '../../support/requests.ts'
import { answerOf, authorizationUrl, exchange, refresh, WEB } from '../../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../../support/user-agent.ts'
import { ASKING, ASKING_SIGNED, EXCHANGER, KEYED, NONCES, PROVIDER, server, web } from './server.ts'
import { SCOPE, signedInAgain, type Things } from './things.ts'

export interface Place {
  readonly takes: readonly string[]
  /** The plugin without which there is no such place. */
  readonly needs?: string
  tries(thing: string): Promise<boolean>
}

/** Which are judged where: each file that reads a JWT and believes it, and the places that it is read for. */
export const JUDGED: Readonly<Record<string, readonly string[]>> = {
  'plugins/resource-server.ts': ['userinfo', 'userinfo, by query', 'a guarded route'],
  'plugins/introspection.ts': ['introspection'],
  'plugins/openid.ts': ['id_token_hint of a request'],
  'plugins/global-token-revocation/callers.ts': ['the end of all tokens of somebody'],
  'plugins/global-token-revocation/vouchers.ts': ['the end of all tokens of somebody'],
  'plugins/sign-out/end-session/index.ts': ['id_token_hint at sign-out'],
  'plugins/client-authentication/client-assertions.ts': ['the assertion of a client'],
  'plugins/client-authentication/client-secret-jwt.ts': ['the assertion of a client'],
  'plugins/token/grants/ciba/hints.ts': [
    'id_token_hint of a backchannel request',
    'login_hint_token of a backchannel request',
  ],
  'plugins/token/grants/ciba/signed-requests.ts': ['a signed backchannel request'],
  'plugins/requests/jar.ts': ['the request of an authorization'],
  'plugins/dpop.ts': ['the proof of a key', 'the nonce of a proof'],
  'plugins/token/grants/token-exchange/subject-tokens.ts': ['the access token of an exchange'],
  'plugins/token/grants/token-exchange/id-token-reader.ts': ['the ID token of an exchange'],
  'src/services/trusted-issuers/assertions.ts': ['the assertion of a trusted issuer'],
  'src/services/registration/software-statements.ts': ['the statement of a registration'],
}

let asked = 0

async function register(token: string, members: object): Promise<boolean> {
  const headers = { ...bearer(token), 'content-type': 'application/json' }
  const body = JSON.stringify({ redirect_uris: ['https://app.example/callback'], ...members })
  const response = await server.request('/register', { method: 'POST', headers, body })
  return response.status === 201
}

async function exchanged(subject_token: string, type: string): Promise<boolean> {
  const subject_token_type = `urn:ietf:params:oauth:token-type:${type}`
  const form = { grant_type: EXCHANGER.grant_types[0]!, subject_token, subject_token_type }
  const by = basic(EXCHANGER.client_id, EXCHANGER.client_secret)
  return (await server.post('/token', form, by)).status === 200
}

/** A client of `things`, and a browser in which its user has signed in. */
export function createPlaces(
  things: Things,
  agent: UserAgent,
  registrationUri: string,
): Record<string, Place> {
  /** One that is signed in, to be signed out. */
  let leaving: UserAgent | undefined
  return {
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
    'the nonce of a proof': {
      takes: ['DPoP nonce'],
      async tries(nonce) {
        const form = { grant_type: 'client_credentials', scope: 'read_books' }
        const dpop = await prove(await createDpopKey(), { method: 'POST', url: `${server.url}/token`, nonce })
        const by = basic(NONCES.client_id, WEB.client_secret)
        return (await server.post('/token', form, { ...by, dpop })).status === 200
      },
    },
    'the assertion of a client': {
      takes: ['client assertion'],
      async tries(client_assertion) {
        const form = { grant_type: 'client_credentials', client_id: KEYED.client_id }
        const by = { client_assertion, client_assertion_type: ASSERTION_TYPE }
        // Each from somewhere else: who fails too often is asked to wait.
        const from = { 'x-forwarded-for': `198.51.100.${(asked += 1)}` }
        return (await server.post('/token', { ...form, ...by }, from)).status === 200
      },
    },
    'the request of an authorization': {
      takes: ['request object'],
      async tries(request) {
        const { headers } = await server.get(addressOf(KEYED.client_id, { request }))
        return headers.get('location')?.startsWith('/') === true
      },
    },
    'the request_uri of an authorization': {
      takes: ['request_uri'],
      async tries(request_uri) {
        const { headers } = await server.get(addressWith({ request_uri }))
        return headers.get('location')?.startsWith('/') === true
      },
    },
    registration: {
      takes: ['initial access token'],
      tries: async (thing) => register(thing, {}),
    },
    'the statement of a registration': {
      takes: ['software statement'],
      tries: async (thing) => register(things['initial access token']!, { software_statement: thing }),
    },
    'a client that was registered': {
      takes: ['registration access token'],
      tries: async (thing) =>
        (await server.get(new URL(registrationUri).pathname, bearer(thing))).status === 200,
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
    'the access token of an exchange': {
      needs: 'latchkey-token-exchange',
      takes: ['access token', 'opaque access token'],
      tries: async (thing) => exchanged(thing, 'access_token'),
    },
    'the refresh token of an exchange': {
      needs: 'latchkey-token-exchange',
      // Nobody's but its client's own.
      takes: [],
      tries: async (thing) => exchanged(thing, 'refresh_token'),
    },
    'the ID token of an exchange': {
      needs: 'latchkey-token-exchange',
      takes: ['ID token', "another client's ID token"],
      tries: async (thing) => exchanged(thing, 'id_token'),
    },
    'the assertion of a trusted issuer': {
      needs: 'latchkey-jwt-bearer',
      // None of these is of one.
      takes: [],
      async tries(assertion) {
        const by = basic(EXCHANGER.client_id, EXCHANGER.client_secret)
        const form = { grant_type: EXCHANGER.grant_types[1]!, assertion }
        return (await server.post('/token', form, by)).status === 200
      },
    },
    'id_token_hint of a request': {
      takes: ['ID token'],
      async tries(thing) {
        const url = authorizationUrl(server, { ...SCOPE, id_token_hint: thing, prompt: 'none' })
        return answerOf(await agent.clone().get(url)).has('code')
      },
    },
    'id_token_hint of a backchannel request': {
      needs: 'latchkey-ciba',
      takes: ['ID token'],
      tries: async (thing) =>
        (await call(server, { scope: 'openid', id_token_hint: thing }, WEB)).status === 200,
    },
    'login_hint_token of a backchannel request': {
      needs: 'latchkey-ciba',
      takes: ['login hint token'],
      tries: async (thing) =>
        (await call(server, { scope: 'openid', login_hint_token: thing }, ASKING)).status === 200,
    },
    'a signed backchannel request': {
      needs: 'latchkey-ciba',
      takes: ['backchannel authentication request'],
      tries: async (thing) => (await call(server, { request: thing }, ASKING_SIGNED)).status === 200,
    },
    'id_token_hint at sign-out': {
      // Anybody's of this user: sign-out knows no client but by it.
      takes: ['ID token', "another client's ID token"],
      async tries(thing) {
        leaving ??= await signedInAgain()
        const page = `${server.url}/end-session?id_token_hint=${encodeURIComponent(thing)}`
        const isOut = (await leaving.clone().get(page)).body.includes('id="signed-out"')
        if (isOut) leaving = undefined
        return isOut
      },
    },
    'the end of all tokens of somebody': {
      needs: 'latchkey-global-token-revocation',
      takes: ['global token revocation'],
      // Of nobody who is here: that is known to those alone who may ask.
      tries: async (thing) => (await end(server, thing, bySubject(PROVIDER, 'nobody'))).status === 404,
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
}
