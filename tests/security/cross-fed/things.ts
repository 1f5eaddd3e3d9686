/** One of everything that this server gives out, or that others make for it, by what it is. */
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { loginHintToken, signedRequest } from '../../support/ciba.ts'
import { assertionOf } from '../../support/client-assertions.ts'
import { createClient } from '../../support/clients.ts'
import { createDpopKey, prove } from '../../support/dpop.ts'
import { PATH as REVOCATION, vouch } from '../../support/global-token-revocation.ts'
import { push } from '../../support/pushed.ts'
import { requestObject } from '../../support/request-objects.ts'
import { basic, bearer } from '../../support/requests.ts'
import { POLL, signalsWith, tokenFor } from '../../support/shared-signals.ts'
import { authorizationUrl, authorize, getTokens, goThrough, WEB } from '../../support/sign-in.ts'
import { until } from '../../support/until.ts'
import { createUserAgent, type UserAgent } from '../../support/user-agent.ts'
import { CONSENT } from '../forms.ts'
import {
  EXCHANGER,
  ASKING,
  ASKING_SIGNED,
  HEARING,
  host,
  key,
  KEYED,
  NONCES,
  PROVIDER,
  server,
  softwareStatement,
  web,
} from './server.ts'
import { isThere } from '../../support/left-out.ts'

type Answer = Record<string, string>

export const SCOPE = { scope: 'openid read_books' }
export type Things = Record<string, string>

/** Which are made where: each file that signs or encrypts a JWT, and what it makes. */
export const MADE: Readonly<Record<string, readonly string[]>> = {
  'src/services/tokens/access-token-signer.ts': ['access token', "a service's own token"],
  'src/services/tokens/token-issuer.ts': ['access token'],
  'src/services/tokens/id-tokens.ts': ['ID token', "another client's ID token"],
  'plugins/userinfo.ts': ['signed userinfo'],
  'plugins/encryption.ts': ['encrypted ID token'],
  'plugins/authorize/jarm.ts': ['authorization response'],
  'plugins/jwt-introspection.ts': ['introspection response'],
  'plugins/sign-out/backchannel-logout.ts': ['logout token'],
  'plugins/token/grants/token-exchange/id-jag.ts': ['ID-JAG'],
  'plugins/discovery/signed.ts': ['signed metadata'],
  'plugins/shared-signals/sets.ts': ['security event token'],
}

async function tokensOf(client_id: string, agent: UserAgent): Promise<Answer> {
  const code = (await authorize(server, { ...SCOPE, client_id }, agent)).get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri: WEB.redirect_uri }
  return (await (await server.post('/token', form, basic(client_id, WEB.client_secret))).json()) as Answer
}

/** What the app of a client is told once its user signs out, somewhere else. */
async function logoutToken(): Promise<string> {
  const agent = createUserAgent(server.url)
  await tokensOf('signed', agent)
  const page = await agent.get(`${server.url}/end-session`)
  await agent.submit(page, 'end-session')
  return until(() => {
    const told = host.received.find(({ url }) => url === '/logout')
    if (told === undefined) throw new Error('The app was not told.')
    return new URLSearchParams(told.body).get('logout_token')!
  })
}

/** What an app shows at the server of another one. */
async function idJag(subject_token: string): Promise<string> {
  const form = {
    grant_type: EXCHANGER.grant_types[0]!,
    subject_token,
    subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
    requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
    audience: 'https://other.example',
  }
  return ((await (await server.post('/token', form, web.basic)).json()) as Answer)['access_token']!
}

/** What a receiver is told when it asks whether its stream works. */
async function securityEvent(): Promise<string> {
  const token = await tokenFor(server, HEARING.client_id)
  const call = signalsWith(server, token)
  const { body: stream } = await call('POST', '/stream', { delivery: { method: POLL } })
  await call('POST', '/verify', { stream_id: stream.stream_id })
  const { pathname } = new URL(stream.delivery.endpoint_url)
  const answer = await server.request(pathname, {
    method: 'POST',
    headers: { ...bearer(token), 'content-type': 'application/json' },
    body: '{}',
  })
  const { sets } = (await answer.json()) as { sets: Answer }
  return Object.values(sets)[0]!
}

async function registrationToken(initial: string): Promise<{ uri: string; token: string }> {
  const response = await server.request('/register', {
    method: 'POST',
    headers: { ...bearer(initial), 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: ['https://other.example/callback'] }),
  })
  const told = (await response.json()) as Answer
  return { uri: told['registration_client_uri']!, token: told['registration_access_token']! }
}

async function dpopNonce(): Promise<string> {
  const dpop = await prove(await createDpopKey(), { method: 'POST', url: `${server.url}/token` })
  const by = basic(NONCES.client_id, WEB.client_secret)
  const response = await server.post('/token', { grant_type: 'client_credentials' }, { ...by, dpop })
  return response.headers.get('dpop-nonce')!
}

export async function createThings() {
  const agent = createUserAgent(server.url)
  const ofWeb = await getTokens(server, SCOPE, agent)
  const [signed, opaque, sealed] = [
    await tokensOf('signed', agent),
    await tokensOf('opaque', agent),
    await tokensOf('sealed', agent),
  ]
  const consent = await CONSENT.open(server, agent)
  const service = await createClient(server, { scope: ['read_books'] })
  const own = await server.post('/token', { grant_type: 'client_credentials' }, service.basic)
  const initial = await kernelOf(server.server).initialTokens.create({ name: 'all', uses: 10_000 })
  const registered = await registrationToken(initial)
  const accept = { accept: 'application/token-introspection+jwt' }
  const metadata = (await (await server.get('/.well-known/openid-configuration')).json()) as Answer
  const response = await agent.get(authorizationUrl(server, { ...SCOPE, response_mode: 'jwt' }))
  const [, claims = ''] = ofWeb.id_token.split('.')
  const things: Things = {
    'access token': ofWeb.access_token,
    'opaque access token': opaque['access_token']!,
    'ID token': ofWeb.id_token,
    'refresh token': ofWeb.refresh_token,
    "another client's ID token": signed['id_token']!,
    "another client's refresh token": signed['refresh_token']!,
    'encrypted ID token': sealed['id_token']!,
    'signed userinfo': await (await server.get('/userinfo', bearer(signed['access_token']!))).text(),
    'introspection response': await (
      await server.post('/introspect', { token: ofWeb.access_token }, { ...web.basic, ...accept })
    ).text(),
    'authorization response': new URL(response.headers.get('location')!).searchParams.get('response')!,
    'logout token': await logoutToken(),
    ...(isThere('latchkey-token-exchange') ? { 'ID-JAG': await idJag(ofWeb.id_token) } : {}),
    'signed metadata': metadata['signed_metadata']!,
    ...(isThere('latchkey-shared-signals') ? { 'security event token': await securityEvent() } : {}),
    "a service's own token": ((await own.json()) as Answer)['access_token']!,
    code: (await authorize(server, SCOPE, agent)).get('code')!,
    "another client's code": (await authorize(server, { ...SCOPE, client_id: 'signed' }, agent)).get('code')!,
    'session cookie': agent.cookies.get('latchkey-session')!,
    'browser cookie': agent.cookies.get('latchkey-browser')!,
    'CSRF token': consent.fields['csrf_token']!,
    'interaction id': new URL(consent.action).pathname.split('/').at(-2)!,
    'sealed interaction': new URL(consent.action).searchParams.get('request')!,
    'client secret': WEB.client_secret,
    sid: (JSON.parse(Buffer.from(claims, 'base64url').toString()) as { sid: string }).sid,
    'initial access token': initial,
    'registration access token': registered.token,
    request_uri: (await push(server)).request_uri,
    'DPoP nonce': await dpopNonce(),
    // Made by others, for this server.
    'DPoP proof': await prove(await createDpopKey(), { method: 'POST', url: `${server.url}/token` }),
    'client assertion': await assertionOf(key, KEYED.client_id, server.url),
    'request object': await requestObject(key, KEYED.client_id, server.url),
    'software statement': await softwareStatement(),
    'global token revocation': await vouch({ issuer: PROVIDER, key }, 'here', `${server.url}${REVOCATION}`),
    'login hint token': await loginHintToken(key, ASKING.client_id, server.url),
    'backchannel authentication request': await signedRequest(key, ASKING_SIGNED.client_id, server.url),
  }
  return { agent, ofWeb, things, registrationUri: registered.uri }
}

export async function signedInAgain(): Promise<UserAgent> {
  const agent = createUserAgent(server.url)
  await goThrough(agent, await agent.get(authorizationUrl(server)))
  return agent
}
