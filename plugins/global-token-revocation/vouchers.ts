/**
 * JWTs by which issuers elsewhere ask by themselves, as Okta does for its Universal Logout: of an upstream, by the keys that its metadata names, or of
 * a trusted issuer of which people are linked with accounts here. Each is for this address, short-lived, and used once.
 */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { obeys } from '../../src/protocol/claim-rules.ts'
import { isObject, parseJson } from '../../src/protocol/json.ts'
import { CLOCK_SKEW, decodeSignedJwt, JwtError } from '../../src/protocol/signed-jwt.ts'
import { mappingOf } from '../../src/protocol/trusted-issuer-information.ts'
import { hasIdTokens } from '../../src/protocol/upstream-kinds.ts'
import { type KeyHolder, KeysUnreadableError } from '../../src/services/clients/client-keys.ts'
import { TooManyUnderWay } from '../../src/services/outbound/too-many.ts'
import type { UpstreamInformation } from '../../src/services/upstreams/upstream-registry.ts'

/** `typ` of such a JWT: nothing that an issuer signs for another reason can be taken for one (RFC 8725 §3.11). */
export const TYPE = 'global-token-revocation+jwt'
/** Seconds that one may be old, and good. */
const LONGEST = 600
/** Seconds for which the metadata of an upstream is not asked for again. */
const FRESH = 60

/** An issuer that has proven that it asks. */
export interface Voucher {
  readonly issuer: string
  /** Null for a trusted issuer, of which nothing is known about addresses. */
  readonly upstream: UpstreamInformation | null
  readonly claims: Bag
  /** What is spent of it, and until when that must be known. */
  readonly handle: string
  readonly until: Date
}

export interface Vouchers {
  /** Whose it says it is, where one of that name is registered; nobody has checked it. */
  issuerNamedIn(jwt: string): Promise<string | null>
  /** Throws `JwtError` that says what is wrong, and quotes nothing; a `KeysUnreadableError` where that cannot be known now. */
  read(jwt: string): Promise<Voucher>
}

interface Known extends Pick<Voucher, 'issuer' | 'upstream'> {
  readonly holder: () => Promise<KeyHolder>
  readonly algorithms?: readonly string[] | undefined
  readonly rules?: Parameters<typeof obeys>[1] | undefined
}

export function createVouchers(fastify: FastifyInstance, audiences: readonly string[]): Vouchers {
  const { oauth, log } = fastify
  const { upstreams, trustedIssuers } = kernelOf(fastify)

  /** Those by which people sign in here. One without ID tokens has no keys, and says nothing that shows that its issuer is its own name. */
  async function upstreamsOf(issuer: unknown): Promise<UpstreamInformation[]> {
    if (!fastify.hasPlugin('latchkey-upstreams')) return []
    return (await upstreams.all()).filter((one) => one.issuer === issuer && hasIdTokens(one))
  }

  /** Those whose subjects are linked accounts. */
  async function trustedOf(issuer: unknown) {
    return (await trustedIssuers.trusted()).filter(
      (one) => one.issuer === issuer && mappingOf(one).by === 'link',
    )
  }

  async function find({ iss, sub }: Bag): Promise<Known> {
    const ofThisName = await upstreamsOf(iss)
    // Its JWT is for the app that we are there, so that no other app of it can have anybody signed out here.
    const upstream = ofThisName.find(({ client_id: clientId }) => clientId === sub)
    if (upstream !== undefined)
      return { issuer: upstream.issuer, upstream, holder: async () => holderOf(upstream) }
    if (ofThisName.length > 0) throw new JwtError('its sub is not the client_id that we have there')
    const [trusted] = await trustedOf(iss)
    if (trusted === undefined) throw new JwtError('its iss is not known here')
    const { issuer, algorithms, jwks, jwks_uri, claims: rules } = trusted
    const holder = { clientId: issuer, metadata: { jwks, jwks_uri } }
    return { issuer, upstream: null, algorithms, rules, holder: async () => holder }
  }

  /** By its metadata, which must be its own (OpenID Connect Discovery §4.3). */
  async function holderOf({ id, issuer }: UpstreamInformation): Promise<KeyHolder> {
    try {
      const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
      const response = await oauth.fetch(address, { headers: { accept: 'application/json' }, maxAge: FRESH })
      const metadata = response.status === 200 ? parseJson(await response.text()) : undefined
      const { issuer: named, jwks_uri: uri } = isObject(metadata) ? metadata : {}
      if (named !== issuer || typeof uri !== 'string')
        throw new Error(
          `its metadata answers ${response.status}, and is not that of ${issuer} with a jwks_uri`,
        )
      return { clientId: issuer, metadata: { jwks_uri: uri } }
    } catch (cause) {
      if (cause instanceof TooManyUnderWay) throw cause
      log.warn({ upstream: id, err: cause }, 'the metadata of an upstream cannot be read')
      throw new KeysUnreadableError('its metadata cannot be read', { cause })
    }
  }

  return {
    async issuerNamedIn(jwt) {
      try {
        const { iss } = decodeSignedJwt(jwt).claims
        const isKnown = (await upstreamsOf(iss)).length > 0 || (await trustedOf(iss)).length > 0
        return isKnown ? String(iss) : null
      } catch (error) {
        if (error instanceof JwtError) return null
        throw error
      }
    },
    async read(jwt) {
      const { issuer, upstream, holder, algorithms, rules = {} } = await find(decodeSignedJwt(jwt).claims)
      const claims = await oauth.clientKeys.verify(await holder(), jwt, {
        types: [TYPE],
        issuer,
        algorithms,
        audiences,
        required: ['sub', 'exp', 'iat', 'jti'],
        longest: LONGEST,
      })
      if (Number(claims['iat']) < Date.now() / 1000 - LONGEST - CLOCK_SKEW)
        throw new JwtError(`it is older than ${LONGEST} seconds`)
      if (!obeys(claims, rules)) throw new JwtError('its claims are not those that its issuer needs')
      const until = new Date((Number(claims['exp']) + CLOCK_SKEW) * 1000)
      return { issuer, upstream, claims, handle: `${issuer} ${String(claims['jti'])}`, until }
    },
  }
}
