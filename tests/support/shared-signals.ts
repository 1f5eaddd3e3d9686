/** Apps that hear of security events: they sign people in, have a stream, and verify what comes by the keys that the metadata names. */
import { createRemoteJWKSet, decodeJwt, jwtVerify, type JWTPayload } from 'jose'
import { basic, bearer, type Requests } from './requests.ts'
import { startServer, type TestServer } from './server.ts'
import type { Settings } from './settings.ts'
import { authorize, REDIRECT_URI, SEED } from './sign-in.ts'
import { createUserAgent, type UserAgent } from './user-agent.ts'

const CAEP = 'https://schemas.openid.net/secevent/caep/event-type/'
const RISC = 'https://schemas.openid.net/secevent/risc/event-type/'
export const SESSION_REVOKED = `${CAEP}session-revoked`
export const CREDENTIAL_CHANGE = `${CAEP}credential-change`
export const ACCOUNT_DISABLED = `${RISC}account-disabled`
export const ACCOUNT_ENABLED = `${RISC}account-enabled`
export const ACCOUNT_PURGED = `${RISC}account-purged`
export const ALL = [SESSION_REVOKED, CREDENTIAL_CHANGE, ACCOUNT_DISABLED, ACCOUNT_ENABLED, ACCOUNT_PURGED]
export const VERIFICATION = 'https://schemas.openid.net/secevent/ssf/event-type/verification'
export const PUSH = 'urn:ietf:rfc:8935' as const
export const POLL = 'urn:ietf:rfc:8936' as const

const SECRET = `lks_${'s'.repeat(43)}`

/** A client that people sign in to, and that has a stream. */
export function app(client_id: string, more: object = {}) {
  return {
    client_id,
    client_secret: SECRET,
    response_types: ['code'],
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
    redirect_uri: REDIRECT_URI,
    scope: ['ssf.manage', 'ssf.read'],
    ...more,
  }
}

export async function startSignals(clients: readonly object[], settings: Settings = {}): Promise<TestServer> {
  const seed = { ...SEED, clients: [...SEED.clients, ...clients] }
  return startServer({ OIDC_SHARED_SIGNALS: 'on', ...settings }, { seed })
}

export async function tokenFor(server: Requests, client: string, scope = 'ssf.manage'): Promise<string> {
  const form = { grant_type: 'client_credentials', scope }
  const answer = await server.post('/token', form, basic(client, SECRET))
  if (answer.status !== 200) throw new Error(`no token: ${answer.status} ${await answer.text()}`)
  return ((await answer.json()) as { access_token: string }).access_token
}

export interface SignalsAnswer {
  readonly status: number
  readonly headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- what is in it, the tests say.
  readonly body: any
}

/** Below `/ssf`; a text as it is. */
export type CallSignals = (method: string, path: string, body?: unknown) => Promise<SignalsAnswer>

export function signalsWith(server: Requests, token?: string): CallSignals {
  return async (method, path, body) => {
    const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
    const headers = {
      ...(token === undefined ? {} : bearer(token)),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    const answer = await server.request(`/ssf${path}`, { method, headers, ...sent })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) }
  }
}

export async function signalsAs(server: Requests, client: string): Promise<CallSignals> {
  return signalsWith(server, await tokenFor(server, client))
}

export async function streamOf(
  call: CallSignals,
  delivery: object = { method: POLL },
  events_requested: readonly string[] = ALL,
): Promise<string> {
  const { status, body } = await call('POST', '/stream', { delivery, events_requested })
  if (status !== 201) throw new Error(`no stream: ${status} ${JSON.stringify(body)}`)
  return body.stream_id as string
}

/** Of what was pushed, each event once: where an answer is late, it comes again with the same `jti`. */
export function once<Pushed extends { readonly body: string }>(pushed: readonly Pushed[]): Pushed[] {
  return [...Map.groupBy(pushed, ({ body }) => decodeJwt(body).jti).values()].map(([first]) => first!)
}

/** Somebody who has signed in to the app: the `sub` and the `sid` that it was told. */
export async function signInTo(
  server: TestServer,
  client: string,
  user: { username: string; password: string },
  agent: UserAgent = createUserAgent(server.url),
): Promise<{ agent: UserAgent; sub: string; sid: string; id_token: string }> {
  const code = (await authorize(server, { client_id: client }, agent, user)).get('code') ?? ''
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
  const answer = await server.post('/token', form, basic(client, SECRET))
  if (answer.status !== 200) throw new Error(`no tokens: ${answer.status} ${await answer.text()}`)
  const { id_token } = (await answer.json()) as { id_token: string }
  const { sub = '', sid } = decodeJwt<{ sid: string }>(id_token)
  return { agent, sub, sid, id_token }
}

/** As a receiver does (RFC 8417 §4, SSF 1.0 §4): keys anew each time, as after a rotation. */
export async function verified(server: TestServer, set: string, client: string): Promise<JWTPayload> {
  const metadata = (await (await server.get('/.well-known/ssf-configuration')).json()) as Record<
    string,
    string
  >
  const keys = createRemoteJWKSet(new URL(metadata['jwks_uri']!))
  const expected = {
    issuer: metadata['issuer']!,
    audience: client,
    typ: 'secevent+jwt',
    algorithms: ['RS256'],
  }
  const { payload } = await jwtVerify(set, keys, expected)
  return payload
}
