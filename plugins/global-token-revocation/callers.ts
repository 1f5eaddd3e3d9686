/** Who may ask: programs with a token of this server for it, and issuers elsewhere by JWTs of their own. All else is refused before a body is read. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { decodeSignedJwt, JwtError } from '../../src/protocol/signed-jwt.ts'
import { KeysUnreadableError } from '../../src/services/clients/client-keys.ts'
import { useOnce } from '../../src/services/once.ts'
import type { Query } from '../../src/store/statement.ts'
import type { ProgramAccess } from '../programs/access.ts'
import type { AccessToken } from '../require-scope/access-token.ts'
import { BearerError } from '../require-scope/bearer-error.ts'
import { formatChallenge } from '../require-scope/challenge.ts'
import { type GuardedRequest, verifiedToken } from '../require-scope/guard.ts'
import { presentedToken } from '../require-scope/presentation.ts'
import { createVouchers, TYPE, type Voucher } from './vouchers.ts'

/** Of throttled tries, and of what is used once. */
const KIND = 'global-token-revocation'

export interface Callers {
  /** Guards the route: `fastify.requireScope` for tokens of programs, and for JWTs of issuers. */
  readonly requireScope: FastifyInstance['requireScope']
  /** Null for a program. */
  voucherOf(request: FastifyRequest): Voucher | null
  /** Uses the JWT of the request, if it came with one, up. Throws `invalid_token` where it was used before. */
  spend(request: FastifyRequest, query?: Query): Promise<void>
}

export interface CallersOptions {
  readonly access: ProgramAccess
  /** The address and the identifier of it as a resource. */
  readonly resource: string
}

export function createCallers(fastify: FastifyInstance, { access, resource }: CallersOptions): Callers {
  const { oauth } = fastify
  const { database } = kernelOf(fastify)
  const vouchers = createVouchers(fastify, [resource, `${resource}/`, oauth.issuer])
  const tries = oauth.throttle(KIND)
  const vouched = new WeakMap<FastifyRequest, Voucher>()

  /** What was wrong is for the log, and for the administrators of a server that knows the issuer: a stranger learns nothing by it. */
  async function refused(request: FastifyRequest, jwt: string, { message }: JwtError): Promise<OAuthError> {
    const issuer = await vouchers.issuerNamedIn(jwt)
    request.log.info(
      { reason: message, ...(issuer === null ? {} : { issuer }) },
      'a JWT of an issuer was refused',
    )
    if (issuer !== null)
      oauth.audit.observe({ type: 'token.assertion_refused', details: { reason: message, issuer } })
    return invalidToken('The JWT is not good here')
  }

  function invalidToken(description: string): OAuthError {
    const challenge = { realm: resource, error: 'invalid_token', error_description: description }
    return new OAuthError('invalid_token', description, {
      headers: { 'www-authenticate': formatChallenge(challenge) },
    })
  }

  async function vouch(request: FastifyRequest, jwt: string): Promise<Voucher> {
    const attempt = await tries.attempt(null, request.ip)
    try {
      const voucher = await vouchers.read(jwt)
      attempt.succeeded()
      return voucher
    } catch (error) {
      if (!(error instanceof JwtError)) {
        attempt.abandoned()
        throw error
      }
      await attempt.failed()
      if (error instanceof KeysUnreadableError)
        throw new OAuthError('temporarily_unavailable', 'the keys of the issuer cannot be read; try again', {
          cause: error,
        })
      throw await refused(request, jwt, error)
    }
  }

  return {
    requireScope(...needs) {
      const ofPrograms = access.requireScope(...needs)
      return async (guarded, reply) => {
        const jwt = voucherIn(guarded)
        if (jwt === undefined) return ofPrograms(guarded, reply)
        const request = guarded as unknown as FastifyRequest
        const voucher = await vouch(request, jwt)
        vouched.set(request, voucher)
        ;(request as { [verifiedToken]?: AccessToken })[verifiedToken] = asToken(voucher)
        return undefined
      }
    },
    voucherOf: (request) => vouched.get(request) ?? null,
    async spend(request, query = database.query) {
      const voucher = vouched.get(request)
      if (voucher !== undefined && !(await useOnce(query, KIND, voucher.handle, voucher.until)))
        throw invalidToken('The JWT was used before')
    },
  }
}

/** Of a request whose token says that it is one; undefined for what is for the guard of programs to judge. */
function voucherIn(request: GuardedRequest): string | undefined {
  try {
    const { value } = presentedToken(request, false, [])
    return decodeSignedJwt(value).typ === TYPE ? value : undefined
  } catch (error) {
    if (error instanceof JwtError || error instanceof BearerError) return undefined
    throw error
  }
}

/** As the house wants to know a caller: without any scope of ours. */
function asToken({ issuer, claims }: Voucher): AccessToken {
  const { sub, aud, jti, iat, exp } = claims
  const at = (seconds: unknown): Date => new Date(Number(seconds) * 1000)
  return {
    issuer,
    subject: String(sub),
    clientId: String(sub),
    scopes: new Set(),
    audience: [aud].flat().map(String),
    issuedAt: at(iat),
    expiresAt: at(exp),
    jti: String(jti),
    claims,
  }
}
