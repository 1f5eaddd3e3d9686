/** What FAPI-CIBA clients send, with all that proves who they are, and what the person does meanwhile. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { GRANT_TYPE, PATH, pageOf, signedRequest } from '../../support/ciba.ts'
import { assertionOf, ASSERTION_TYPE, type AssertionKey } from '../../support/client-assertions.ts'
import { goThrough } from '../../support/sign-in.ts'
import { until } from '../../support/until.ts'
import { findForm } from '../../support/user-agent.ts'
import { PERSON } from '../suite.ts'
import { API, SCOPE, shown, type CibaClient, type CibaSuite } from './suite.ts'

/** What goes with a request beside itself; by default all that it needs, by the first client. */
export interface How {
  readonly client?: CibaClient
  /** Null: none. */
  readonly assertion?: { claims?: object; by?: AssertionKey } | null
  /** Null: none. */
  readonly certificate?: CibaClient | null
  /** Of a request: by which key it is signed. */
  readonly signer?: AssertionKey
  /** Over the header of its JWT. */
  readonly header?: object
}

export interface Asked {
  readonly auth_req_id: string
  readonly expires_in: number
  readonly interval: number
  /** By which the client is told. */
  readonly token: string
}

/** A suite asks slowly; ours asks from an address of its own each time, since who fails too often is asked to wait. */
let asked = 0
const from = (): Record<string, string> => ({ 'x-forwarded-for': `198.51.100.${(asked += 1) % 250}` })

/** A form by the back channel. */
export async function send(
  suite: CibaSuite,
  path: string,
  form: Readonly<Record<string, string>>,
  how: How = {},
): Promise<Response> {
  const { client = suite.first, assertion, certificate = client } = how
  const isAsserted = suite.authentication === 'private_key_jwt' && assertion !== null
  // By default, as the Foundation's: the address that it is sent to.
  const aud = `${suite.server.url}${path}`
  const proof = isAsserted
    ? {
        client_assertion_type: ASSERTION_TYPE,
        client_assertion: await assertionOf(
          assertion?.by ?? client.key,
          client.client_id,
          aud,
          assertion?.claims,
        ),
      }
    : { client_id: client.client_id }
  const headers = { ...from(), ...(certificate === null ? {} : shown(certificate)) }
  return suite.server.post(path, { ...form, ...proof }, headers)
}

/** A request, signed; `claims` are laid over it. */
export async function request(suite: CibaSuite, claims: object = {}, how: How = {}): Promise<Response> {
  const { client = suite.first } = how
  const signed = await signedRequest(
    how.signer ?? client.key,
    client.client_id,
    suite.server.url,
    { ...usualOf(suite), ...claims },
    how.header,
  )
  return send(suite, PATH, { request: signed }, how)
}

/** What is asked for where a check does not say it. */
export const usualOf = ({ mode }: CibaSuite) => ({
  scope: `openid ${SCOPE}`,
  login_hint: PERSON.username,
  // As the Foundation's in each of its requests (FAPI-CIBA §5.2.2).
  binding_message: '1234',
  ...(mode === 'ping' ? { client_notification_token: randomUUID() } : {}),
})

/** One that is taken. */
export async function ask(suite: CibaSuite, claims: object = {}, how: How = {}): Promise<Asked> {
  const token = randomUUID()
  const told = suite.mode === 'ping' ? { client_notification_token: token } : {}
  const response = await request(suite, { ...told, ...claims }, how)
  const body = (await response.json()) as Omit<Asked, 'token'>
  expect({ status: response.status, ...body }).toMatchObject({ status: 200, interval: 5 })
  // CIBA §7.3: 160 bits are advised.
  expect(Buffer.from(body.auth_req_id, 'base64url').length).toBeGreaterThanOrEqual(20)
  return { ...body, token }
}

export async function poll(
  suite: CibaSuite,
  { auth_req_id }: Pick<Asked, 'auth_req_id'>,
  how: How = {},
): Promise<Response> {
  return send(suite, '/token', { grant_type: GRANT_TYPE, auth_req_id }, how)
}

/** The person decides at their own pages. */
export async function decide(
  { server, agent }: CibaSuite,
  asked: Pick<Asked, 'auth_req_id'>,
  decision: 'allow' | 'deny',
): Promise<void> {
  const page = await agent.get(pageOf(server, asked))
  const { username, password } = PERSON
  const consent =
    findForm(page, 'login') === undefined ? page : await agent.submit(page, 'login', { username, password })
  if (decision === 'allow') await goThrough(agent, consent, PERSON)
  else await agent.submit(consent, 'consent', { decision })
}

/** What the client was told of this request so far, checked. */
export function pingsOf({ host }: CibaSuite, { auth_req_id, token }: Asked): number {
  const pings = host.received.filter(({ body }) => body.includes(auth_req_id))
  for (const { method, url, headers, body } of pings) {
    expect([method, url]).toEqual(['POST', '/ciba-notification-endpoint'])
    expect(headers).toMatchObject({ 'content-type': 'application/json', authorization: `Bearer ${token}` })
    expect(JSON.parse(body)).toEqual({ auth_req_id })
  }
  return pings.length
}

/** Until the client knows that it may come: at once where it polls. */
export async function awaitPing(suite: CibaSuite, asked: Asked): Promise<void> {
  if (suite.mode === 'ping')
    await until(() => {
      if (pingsOf(suite, asked) === 0) throw new Error('the client was not told')
    })
}

/** The person allows it, the client is told, and fetches its tokens. */
export async function fetchTokens(
  suite: CibaSuite,
  asked: Asked,
  how: How = {},
): Promise<Readonly<Record<string, string>>> {
  await decide(suite, asked, 'allow')
  await awaitPing(suite, asked)
  const response = await poll(suite, asked, how)
  expect(response.status).toBe(200)
  expect(response.headers.get('cache-control')).toBe('no-store')
  return (await response.json()) as Record<string, string>
}

/** What the API says to a token. */
export async function use(
  { server, first }: CibaSuite,
  token: string,
  certificate: CibaClient | null = first,
): Promise<number> {
  const held = certificate === null ? {} : shown(certificate)
  return (await server.get(API, { authorization: `Bearer ${token}`, ...held })).status
}
