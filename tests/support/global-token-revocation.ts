/** Who has everything of somebody ended: programs, and providers elsewhere that have metadata and keys, and sign as they are told. */
import { hash, randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { JWK } from 'jose'
import { assertionOf, type AssertionKey, createAssertionKey, inSeconds } from './client-assertions.ts'
import { startReceiver } from './receiver.ts'
import { bearer, type Requests } from './requests.ts'
import type { TestServer } from './server.ts'

export const PATH = '/global-token-revocation'
export const ON = { GLOBAL_TOKEN_REVOCATION: 'on' }
/** That a JWT of these is for. */
export const TYPE = 'global-token-revocation+jwt'

export interface Asked {
  readonly status: number
  readonly headers: Headers
  readonly body: { error?: string; error_description?: string } | null
}

/** Asks with this token about whom `sub_id` names, or with a body of any kind. */
export async function ask(
  server: Requests,
  token: string | undefined,
  body: object | string,
  more: Record<string, string> = {},
): Promise<Asked> {
  const answer = await server.request(PATH, {
    method: 'POST',
    headers: { ...(token === undefined ? {} : bearer(token)), 'content-type': 'application/json', ...more },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) }
}

export const byEmail = (email: string) => ({ sub_id: { format: 'email', email } })
export const byId = (id: string) => ({ sub_id: { format: 'opaque', id } })
export const bySubject = (iss: string, sub: string) => ({ sub_id: { format: 'iss_sub', iss, sub } })

export interface Idp {
  readonly issuer: string
  readonly key: AssertionKey & { jwk: JWK }
  /** From now on its key set has this. */
  publish(...keys: JWK[]): void
  /** From now on it answers nothing of use, or does again. */
  fail(isAway: boolean): void
}

/** An OpenID provider as far as its metadata and its keys go; nobody keeps what it answers. */
export async function startIdp(): Promise<Idp> {
  const key = await createAssertionKey()
  let keys: readonly JWK[] = [key.jwk]
  let isAway = false
  const receiver = await startReceiver(({ url }, response) => {
    const issuer = `http://127.0.0.1:${receiver.port}`
    if (isAway) return response.writeHead(500).end()
    const isMetadata = url === '/.well-known/openid-configuration'
    return json(response, isMetadata ? { issuer, jwks_uri: `${issuer}/jwks` } : { keys })
  })
  return {
    issuer: `http://127.0.0.1:${receiver.port}`,
    key,
    publish: (...next) => void (keys = next),
    fail: (value) => void (isAway = value),
  }
}

function json(response: ServerResponse, body: object): unknown {
  return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** A JWT as Okta makes it; `claims` and `header` are laid over it. */
export async function vouch(
  { issuer, key }: { readonly issuer: string; readonly key: AssertionKey },
  clientId: string,
  aud: string,
  claims: object = {},
  header: object = {},
): Promise<string> {
  const usual = {
    sub: clientId,
    jti: randomUUID(),
    iat: inSeconds(0),
    nbf: inSeconds(-300),
    exp: inSeconds(300),
  }
  return assertionOf(key, issuer, aud, { ...usual, ...claims }, { typ: TYPE, ...header })
}

/** As if somebody of the issuer had been linked with the user by `latchkey-upstreams`. */
export async function link(
  { database }: Pick<TestServer, 'database'>,
  userId: string,
  { id, issuer }: { id: string; issuer: string },
  subject: string,
): Promise<void> {
  const record = hash('sha256', `${issuer}\0${subject}`, 'base64url')
  const value = JSON.stringify({ upstream: id, issuer, subject, name: null })
  await database.query(
    `insert into user_records (user_id, kind, record_id, value, unique_id) values ($1, 'upstream-link', $2, $3, $4)`,
    [userId, record, value, `upstream-link ${record}`],
  )
}
