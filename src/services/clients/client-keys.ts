/**
 * The public keys of clients, registered by value (`jwks`) or by address (`jwks_uri`): which of them has signed a JWT, and to
 * which one something is encrypted. What is at an address is kept and asked for by `services/outbound`.
 */
import type { X509Certificate } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { Client } from '../../doors/client.ts'
import type { Fetch, OutboundRequest } from '../../doors/outbound.ts'
import type { Bag } from '../../protocol/bag.ts'
import {
  fits,
  JwkSetError,
  parseJwkSet,
  SIGNATURE_ALGORITHMS,
  type PublicJwk,
} from '../../protocol/jwk-set.ts'
import {
  assertClaims,
  decodeSignedJwt,
  type ExpectedClaims,
  isSignedBy,
  JwtError,
} from '../../protocol/signed-jwt.ts'
import { parseJsonObject } from '../../protocol/strict-json.ts'
import { createBoundedCache } from '../bounded-cache.ts'
import { TooManyUnderWay } from '../outbound/too-many.ts'
import { createDecoyKeys } from './decoy-keys.ts'

export interface ExpectedJwt extends Omit<ExpectedClaims, 'now' | 'issuer'> {
  /** The JWS algorithms that are taken; default all that a public key can be checked for. */
  readonly algorithms?: readonly string[] | undefined
  /** Default the client_id; of a client that is not there it must be given. */
  readonly issuer?: string
}

/** They are at an address, which does not answer now. */
export class KeysUnreadableError extends JwtError {}

/** A client, or who else registers keys as one does. */
export type KeyHolder = Pick<Client, 'clientId' | 'metadata' | 'registrar'>

export interface ClientKeys {
  /**
   * The claims of a JWT that the client has signed and that is as expected. Throws `JwtError`; where its keys cannot be
   * read now, a `KeysUnreadableError`; and where too much is asked of others to ask for them, an `OAuthError`: `temporarily_unavailable`. What may be used once is for the caller to spend. With null, where there is no such client, the same is asked in
   * the same time, and the signature is not good.
   */
  verify(client: KeyHolder | null, jwt: string, expected: ExpectedJwt): Promise<Bag>
  /** The client's key for a JWE `alg`, its `use: enc` before one that is for everything; null where it has none. Throws `JwtError`, also where its address is away and may have one by now. */
  findForEncryption(client: KeyHolder, algorithm: string): Promise<PublicJwk | null>
  /** Whether it has registered this certificate (RFC 8705 §2.2.2), as the first `x5c` of a key. Throws `JwtError` as `findForEncryption`. */
  hasCertificate(client: Client, certificate: X509Certificate): Promise<boolean>
  /** All of them; those at an address as they were when last asked for. Throws `JwtError` where they cannot be read. */
  list(client: KeyHolder): Promise<readonly PublicJwk[]>
}

/** What came from an address. */
interface Known {
  text: string
  keys: readonly PublicJwk[]
  /** When it could first not be asked again since it came, by `elapsed`; undefined where it could. */
  failingSince: number | undefined
}

/** What came of asking an address again. */
interface AskedAgain {
  /** By `elapsed`. */
  at: number
  keys: Promise<readonly PublicJwk[]>
}

const AS_IT_IS_NOW = { maxAge: 0, staleIfError: false }
const ACCEPT = { accept: 'application/jwk-set+json, application/json' }
const MOST_ADDRESSES = 5000
/** Milliseconds: how often an address is asked again because a key is missing. */
const AGAIN = 30_000
/** Milliseconds for which keys serve on, from when their address was seen to fail, or could not be asked. */
const STALE = 600_000

/** `now`: milliseconds since the epoch; `elapsed`: by a clock that is not set. */
export function createClientKeys(
  fetch: Fetch,
  log: FastifyBaseLogger,
  { now = () => Date.now(), elapsed = () => performance.now() } = {},
): ClientKeys {
  const registered = new WeakMap<object, readonly PublicJwk[]>()
  const known = createBoundedCache<Known>(MOST_ADDRESSES)
  const askedAgain = createBoundedCache<AskedAgain>(MOST_ADDRESSES)
  const decoys = createDecoyKeys()

  /** By the registration itself, which is another object once it has changed. */
  function byValue(jwks: object): readonly PublicJwk[] {
    const found = registered.get(jwks) ?? parseJwkSet(jwks)
    registered.set(jwks, found)
    return found
  }

  async function download(uri: string, how: OutboundRequest): Promise<readonly PublicJwk[]> {
    const response = await fetch(uri, { headers: ACCEPT, ...how })
    if (response.status !== 200) throw new JwtError(`the address of its keys answers ${response.status}`)
    const bytes = await response.bytes()
    const text = Buffer.from(bytes).toString('latin1')
    const had = known.get(uri)
    const keys = had?.text === text ? had.keys : parseJwkSet(parseJsonObject(bytes))
    known.set(uri, { text, keys, failingSince: undefined })
    return keys
  }

  /** Throws `JwtError` where they cannot be read now, and `TooManyUnderWay` where nobody could be asked. */
  async function read(
    { clientId, registrar }: KeyHolder,
    uri: string,
    how: OutboundRequest = {},
  ): Promise<readonly PublicJwk[]> {
    try {
      return await download(uri, { ...how, byAnybody: registrar !== undefined })
    } catch (cause) {
      const had = known.get(uri)
      const isOurs = cause instanceof TooManyUnderWay
      if (had === undefined ? !isOurs : had.failingSince === undefined)
        log.warn({ client: clientId, err: cause }, 'the keys of a client cannot be read')
      if (had !== undefined) had.failingSince ??= elapsed()
      if (isOurs) throw cause
      throw new KeysUnreadableError('the keys of the client cannot be read', { cause })
    }
  }

  async function byAddress(holder: KeyHolder, uri: string): Promise<readonly PublicJwk[]> {
    try {
      return await read(holder, uri)
    } catch (error) {
      const had = known.get(uri)
      if (had === undefined || elapsed() >= (had.failingSince ?? Infinity) + STALE) throw error
      return had.keys
    }
  }

  async function list(holder: KeyHolder): Promise<readonly PublicJwk[]> {
    const { jwks, jwks_uri: uri } = holder.metadata
    if (typeof uri === 'string') return byAddress(holder, uri)
    try {
      return typeof jwks === 'object' && jwks !== null ? byValue(jwks) : []
    } catch (cause) {
      throw cause instanceof JwkSetError ? new JwtError(`its jwks ${cause.message}`, { cause }) : cause
    }
  }

  /** Once more from the address, where a key is missing; who misses one soon after is told the same. Throws `JwtError` where it does not answer. */
  async function listAgain(holder: KeyHolder): Promise<readonly PublicJwk[]> {
    const { jwks_uri: uri } = holder.metadata
    if (typeof uri !== 'string') return []
    const last = askedAgain.get(uri)
    if (last !== undefined && elapsed() < last.at + AGAIN) return last.keys
    const keys = read(holder, uri, AS_IT_IS_NOW)
    const asked = { at: elapsed(), keys }
    askedAgain.set(uri, asked)
    keys.catch((error: unknown) => {
      if (error instanceof TooManyUnderWay && askedAgain.get(uri) === asked) askedAgain.delete(uri)
    })
    return keys
  }

  /** Those that serve. Throws `JwtError` where none does and its address is away, since one may be there by now. */
  async function find(client: KeyHolder, serves: (key: PublicJwk) => boolean): Promise<readonly PublicJwk[]> {
    const found = (await list(client)).filter(serves)
    return found.length > 0 ? found : (await listAgain(client)).filter(serves)
  }

  return {
    list,
    async verify(
      client,
      jwt,
      { algorithms = SIGNATURE_ALGORITHMS, issuer = client?.clientId ?? '', ...expected },
    ) {
      const unverified = decodeSignedJwt(jwt)
      if (!algorithms.includes(unverified.alg) || !SIGNATURE_ALGORITHMS.includes(unverified.alg))
        throw new JwtError('its alg is not taken')
      assertClaims(unverified, { ...expected, issuer, now: now() })
      const { alg, kid } = unverified
      const mayHave = (key: PublicJwk): boolean => (kid === undefined || key.kid === kid) && fits(key, alg)
      const signers = client === null ? [] : await find(client, mayHave)
      const keys = signers.length === 0 ? [await decoys.of(alg)] : signers.map(({ key }) => key)
      const isGood = (await isSignedBy(jwt, unverified, keys)) && signers.length > 0
      if (!isGood && signers.length === 0) throw new JwtError('the client has no such key')
      if (!isGood) throw new JwtError('its signature is not good')
      return unverified.claims
    },
    async hasCertificate(client, { raw, publicKey }) {
      // RFC 7517 §4.7: the first is of the key itself.
      const isIts = ({ key, x5c: [own = ''] }: PublicJwk): boolean =>
        raw.equals(Buffer.from(own, 'base64')) && key.equals(publicKey)
      return (await find(client, isIts)).length > 0
    },
    async findForEncryption(client, algorithm) {
      const keys = await find(client, (key) => fits(key, algorithm))
      return keys.find(({ use }) => use === 'enc') ?? keys[0] ?? null
    },
  }
}
