/** JWTs of trusted issuers (RFC 7523 §3): which of them is good, as its issuer's registration wants it, and what it says. */
import { hash } from 'node:crypto'
import type { Spend } from '../../doors/facts.ts'
import type { Bag } from '../../protocol/bag.ts'
import { CLOCK_SKEW, decodeSignedJwt, JwtError, type UnverifiedJwt } from '../../protocol/signed-jwt.ts'
import { ID_JAG_TYPE } from '../../protocol/id-jag.ts'
import { obeys } from '../../protocol/claim-rules.ts'
import type { ClientKeys } from '../clients/client-keys.ts'
import type { TrustedIssuer, TrustedIssuerRegistry } from './trusted-issuer-registry.ts'
import type { TrustedIssuerUses } from './trusted-issuer-uses.ts'

/** What a JWT is shown for; an ID-JAG is always for us, whatever audiences are registered. */
export interface ExpectedAssertion {
  /** `typ` that it may have; undefined for none. */
  readonly types: readonly (string | undefined)[]
  readonly required?: readonly string[]
  /** In place of those that are registered of the issuer. */
  readonly audiences?: readonly string[]
}

export interface Assertion {
  readonly from: TrustedIssuer
  readonly claims: Bag
  readonly typ: string | undefined
  /** How it is spent, where it is good once. */
  readonly spend?: Required<Pick<Spend, 'kind' | 'handle' | 'until'>>
}

export interface Assertions {
  /** Throws `JwtError` that says what is wrong; it quotes nothing. */
  read(jwt: string, expected: ExpectedAssertion): Promise<Assertion>
  /** Whose it says it is, where one of that name is registered; nobody has checked it. Throws `JwtError` for what is no JWT. */
  issuerNamedIn(jwt: string): string | null
}

/** Of a JWT that is no access token, ID token or statement of another kind (RFC 8725 §3.11). */
export const PLAIN_TYPES = [undefined, 'jwt', 'jose', 'authorization-grant+jwt'] as const
const MAX_AGE = 3600

export interface AssertionsOptions {
  issuers: TrustedIssuerRegistry
  uses: Pick<TrustedIssuerUses, 'note'>
  keys: ClientKeys
  /** Where no others are registered. */
  audiences: readonly string[]
}

/** @internal */
export function createAssertions({ issuers, uses, keys, audiences }: AssertionsOptions): Assertions {
  async function find({ claims }: UnverifiedJwt): Promise<TrustedIssuer> {
    const named = issuerOf(claims)
    const found = (await issuers.trusted()).find(({ issuer }) => issuer === named)
    if (found === undefined) throw new JwtError('its iss is not trusted here')
    return found
  }

  return {
    issuerNamedIn(jwt) {
      const named = issuerOf(decodeSignedJwt(jwt).claims)
      return named !== undefined && issuers.isKnown(named) ? named : null
    },
    async read(jwt, { types, required = [], audiences: only }) {
      const unverified = decodeSignedJwt(jwt)
      const from = await find(unverified)
      const longest = longestOf(from)
      const isSpiffe = from.issuer.startsWith('spiffe://')
      const holder = { clientId: from.issuer, metadata: { jwks: from.jwks, jwks_uri: from.jwks_uri } }
      const claims = await keys
        .verify(holder, jwt, {
          types,
          issuer: from.issuer,
          issuerOptional: isSpiffe,
          algorithms: from.algorithms,
          audiences: only ?? (unverified.typ === ID_JAG_TYPE ? audiences : (from.audiences ?? audiences)),
          required: ['sub', 'exp', ...required],
          longest,
        })
        .catch((error: unknown) => {
          throw error instanceof JwtError ? inWordsOfIssuers(error) : error
        })
      if (typeof claims['sub'] !== 'string' || claims['sub'] === '') throw new JwtError('its sub is no text')
      if (isSpiffe && !claims['sub'].startsWith(`${from.issuer}/`))
        throw new JwtError('its sub is of another trust domain')
      const { iat } = claims
      if (typeof iat === 'number' && iat < Date.now() / 1000 - longest - CLOCK_SKEW)
        throw new JwtError(`it is older than ${longest} seconds`)
      if (!obeys(claims, from.claims ?? {}))
        throw new JwtError('its claims are not those that its issuer needs')
      uses.note(from)
      const assertion = { from, claims, typ: unverified.typ }
      return from.reusable === true ? assertion : { ...assertion, spend: spendOf(assertion, jwt) }
    },
  }
}

/**
 * When what was found good was made, in seconds since the epoch: at the earliest, where it does not say.
 * @internal
 */
export function madeAt(from: TrustedIssuer, { iat, exp }: Bag): number {
  return iat === undefined ? Number(exp) - longestOf(from) : Number(iat)
}

function longestOf({ max_age: longest = MAX_AGE }: TrustedIssuer): number {
  return longest
}

/** Of one without a name, what was signed: a signature can be written in two ways. */
function spendOf({ from, claims }: Assertion, jwt: string): NonNullable<Assertion['spend']> {
  const { jti = hash('sha256', jwt.slice(0, jwt.lastIndexOf('.')), 'base64url') } = claims
  const until = new Date((Number(claims['exp']) + CLOCK_SKEW) * 1000)
  return { kind: 'assertion', handle: `${from.issuer} ${String(jti)}`, until }
}

/** A JWT-SVID need not name one: its subject lies in the trust domain. */
function issuerOf({ iss, sub }: Bag): string | undefined {
  if (typeof iss === 'string') return iss
  const [domain] = typeof sub === 'string' ? (/^spiffe:\/\/[^/]+/.exec(sub) ?? []) : []
  return iss === undefined ? domain : undefined
}

function inWordsOfIssuers(error: JwtError): JwtError {
  const { message } = error
  return new JwtError(message.replace('the client', 'its issuer'), { cause: error })
}
