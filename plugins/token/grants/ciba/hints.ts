/** Whom a client asks for (CIBA §7.1): by what they sign in with, an ID token of theirs, or a token that the client has signed itself. */
import type { FastifyInstance } from 'fastify'
import type { Call } from '../../../../src/doors/back-channel.ts'
import type { Client } from '../../../../src/doors/client.ts'
import type { User } from '../../../../src/doors/user.ts'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { ENCRYPTED_HINT, isEncrypted } from '../../../../src/protocol/encryption.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { isObject } from '../../../../src/protocol/json.ts'
import { SIGNATURE_ALGORITHMS } from '../../../../src/protocol/jwk-set.ts'
import { Type } from '../../../../src/protocol/schema.ts'
import { ExpiredJwtError, JwtError } from '../../../../src/protocol/signed-jwt.ts'
import { isUuid } from '../../../../src/protocol/uuid.ts'
import type { Wire } from '../../../../src/protocol/wire.ts'
import type { ThrottleLimits } from '../../../../src/services/throttle/throttle-limits.ts'
import { isInUse } from '../../../../src/services/users/user.ts'
import { unknownUser } from './requests.ts'

/** The one person whom the hint names. Throws `OAuthError`: `unknown_user_id` also for who may not sign in. */
export type FindHinted = (wire: Wire, call: Pick<Call, 'client' | 'request'>) => Promise<User>

const HINTS = ['login_hint', 'id_token_hint', 'login_hint_token'] as const
/**
 * Of one client: names of nobody. It may ask who has an account here, as the standard lets it (§13 `unknown_user_id`), and not of a whole
 * list of addresses.
 */
const MISSES: ThrottleLimits = {
  account: { failures: 100, recovery: 10 },
  network: { failures: 1000, recovery: 1 },
  everywhere: { failures: 100, recovery: 10 },
}
/** Seconds: how far ahead a login_hint_token may end. */
const LONGEST = 3600

export function createHints(fastify: FastifyInstance): FindHinted {
  const { oauth } = fastify
  const { doors, ownJwts } = kernelOf(fastify)
  const throttle = oauth.throttle('ciba-hint', MISSES)
  doors.reads(Type.Object(Object.fromEntries(HINTS.map((name) => [name, Type.String()]))))

  /** The verified address before the name, as at sign-in. */
  async function findByName(text: string, client: Client): Promise<User | null> {
    const byAddress = text.includes('@') ? await oauth.users.findByEmail(text) : null
    return byAddress ?? (await oauth.users.find(text)) ?? findBySubject(text, client)
  }

  /** A pairwise `sub` leads nowhere by itself. */
  async function findBySubject(subject: string, client: Client): Promise<User | null> {
    const user = isUuid(subject) ? await oauth.findUser(subject) : null
    return user !== null && oauth.subjectOf(user.id, client) === subject ? user : null
  }

  /** By what the client still has of a sign-in. */
  async function findBySession(sid: unknown, subject: string, client: Client): Promise<User | null> {
    if (typeof sid !== 'string') return null
    let after: string | undefined
    do {
      const page = await oauth.authorizations.listBySession(sid, { after })
      const found = page.authorizations.find(
        ({ clientId, userId }) => clientId === client.clientId && oauth.subjectOf(userId, client) === subject,
      )
      if (found !== undefined) return oauth.findUser(found.userId)
      after = page.next ?? undefined
    } while (after !== undefined)
    return null
  }

  async function findByIdToken(token: string, client: Client): Promise<User | null> {
    if (isEncrypted(token)) throw new OAuthError('invalid_request', ENCRYPTED_HINT)
    const claims = await ownJwts.verifyIdToken(token, { ignoreExpiry: true })
    if (claims === null || ![claims.aud].flat().includes(client.clientId))
      throw new OAuthError('invalid_request', 'id_token_hint is not an ID token that this client got here')
    const { sub, sid } = claims
    return (await findBySubject(sub, client)) ?? findBySession(sid, sub, client)
  }

  /** A JWT of the client's own whose `sub_id` is a subject identifier of RFC 9493. */
  async function findByToken(token: string, client: Client): Promise<User | null> {
    const subject = await subjectIn(token, client)
    const { format, iss, email, id, sub } = subject
    if (format === 'email' && typeof email === 'string') return oauth.users.findByEmail(email)
    if (format === 'opaque' && typeof id === 'string') return findByName(id, client)
    if (format === 'iss_sub' && iss === oauth.issuer && typeof sub === 'string')
      return findBySubject(sub, client)
    return null
  }

  /** A hint is a part of what the client asks: what its profile demands of requests holds for it. */
  function algorithmsOf(client: Client): readonly string[] {
    const demands = doors.all('requestObjectRule').map(({ narrow }) => narrow(client) ?? {})
    return SIGNATURE_ALGORITHMS.filter((one) =>
      demands.every(({ algorithms = SIGNATURE_ALGORITHMS }) => algorithms.includes(one)),
    )
  }

  async function subjectIn(token: string, client: Client): Promise<Readonly<Record<string, unknown>>> {
    try {
      const { sub_id: subject } = await oauth.clientKeys.verify(client, token, {
        types: [undefined, 'jwt'],
        audiences: [oauth.issuer],
        required: ['exp', 'sub_id'],
        longest: LONGEST,
        algorithms: algorithmsOf(client),
      })
      if (!isObject(subject)) throw new JwtError('its sub_id is no object')
      return subject
    } catch (error) {
      if (error instanceof ExpiredJwtError)
        throw new OAuthError('expired_login_hint_token', 'the login_hint_token has expired', { cause: error })
      if (!(error instanceof JwtError)) throw error
      throw new OAuthError('invalid_request', `the login_hint_token is not good: ${error.message}`, {
        cause: error,
      })
    }
  }

  return async (wire, { client, request }) => {
    const sent = HINTS.filter((name) => wire[name] !== undefined)
    const [kind] = sent
    if (kind === undefined || sent.length > 1)
      throw new OAuthError('invalid_request', `one of ${HINTS.join(', ')} says who is asked, and only one`)
    const hint = String(wire[kind])
    const find = { login_hint: findByName, id_token_hint: findByIdToken, login_hint_token: findByToken }[kind]
    const attempt = await throttle.attempt(client.clientId, request.ip)
    try {
      const user = await find(hint, client)
      if (user !== null && isInUse(user)) return user
      await attempt.failed()
      throw unknownUser()
    } finally {
      attempt.abandoned()
    }
  }
}
