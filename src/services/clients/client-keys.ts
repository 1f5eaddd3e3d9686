/**
 * The public keys of clients, registered by value (`jwks`) or by address (`jwks_uri`): which of them has signed a JWT, and to
 * which one something is encrypted. What is at an address is kept and asked for by `services/outbound`.
 */
import type { X509Certificate } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { Client } from '../../doors/client.ts'
import type { Fetch } from '../../doors/outbound.ts'
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
  type UnverifiedJwt,
} from '../../protocol/signed-jwt.ts'
import { parseJsonObject } from '../../protocol/strict-json.ts'
import { createBoundedCache } from '../bounded-cache.ts'
import { createDecoyKeys } from './decoy-keys.ts'

export interface ExpectedJwt extends Omit<ExpectedClaims, 'now' | 'issuer'> {
  /** The JWS algorithms that are taken; default all that a public key can be checked for. */
  readonly algorithms?: readonly string[] | undefined
  /** Default the client_id; of a client that is not there it must be given. */
  readonly issuer?: string
}

/** A client, or who else registers keys as one does. */
export type KeyHolder = Pick<Client, 'clientId' | 'metadata'>

export interface ClientKeys {
  /**
   * The claims of a JWT that the client has signed and that is as expected. Throws `JwtError`, also where its keys cannot be
   * read now. What may be used once is for the caller to spend. With null, where there is no such client, the same is asked in
   * the same time, and the signature is not good.
   */
  verify(client: KeyHolder | null, jwt: string, expected: ExpectedJwt): Promise<Bag>
  /** The client's key for a JWE `alg`, its `use: enc` before one that is for everything; null where it has none. Throws `JwtError` as `list`. */
  findForEncryption(client: KeyHolder, algorithm: string): Promise<PublicJwk | null>
  /** Whether it has registered this certificate (RFC 8705 §2.2.2), as the first `x5c` of a key. Throws `JwtError` as `list`. */
  hasCertificate(client: Client, certificate: X509Certificate): Promise<boolean>
  /** All of them; those at an address as they were when last asked for. Throws `JwtError` where they cannot be read. */
  list(client: KeyHolder): Promise<readonly PublicJwk[]>
}

/** What came from an address. */
interface Known {
  text: string
  keys: readonly PublicJwk[]
  /** Milliseconds since the epoch, of the first failure since it came; undefined where there was none. */
  failingSince: number | undefined
}

const ACCEPT = { accept: 'application/jwk-set+json, application/json' }
const MOST_ADDRESSES = 5000
/** Milliseconds: how often an address is asked again because a key is missing. */
const AGAIN = 30_000
/** Milliseconds for which keys serve on, from when their address was seen to fail. */
const STALE = 600_000

/** `now`: milliseconds since the epoch. */
export function createClientKeys(
  fetch: Fetch,
  log: FastifyBaseLogger,
  now: () => number = () => Date.now(),
): ClientKeys {
  const registered = new WeakMap<object, readonly PublicJwk[]>()
  const known = createBoundedCache<Known>(MOST_ADDRESSES)
  const askedAgain = createBoundedCache<number>(MOST_ADDRESSES)
  const decoys = createDecoyKeys()

  /** By the registration itself, which is another object once it has changed. */
  function byValue(jwks: object): readonly PublicJwk[] {
    const found = registered.get(jwks) ?? parseJwkSet(jwks)
    registered.set(jwks, found)
    return found
  }

  async function download(uri: string, maxAge: number | undefined): Promise<readonly PublicJwk[]> {
    const response = await fetch(uri, { headers: ACCEPT, ...(maxAge === undefined ? {} : { maxAge }) })
    if (response.status !== 200) throw new JwtError(`the address of its keys answers ${response.status}`)
    const bytes = await response.bytes()
    const text = Buffer.from(bytes).toString('latin1')
    const had = known.get(uri)
    const keys = had?.text === text ? had.keys : parseJwkSet(parseJsonObject(bytes))
    known.set(uri, { text, keys, failingSince: undefined })
    return keys
  }

  async function byAddress(clientId: string, uri: string, maxAge?: number): Promise<readonly PublicJwk[]> {
    try {
      return await download(uri, maxAge)
    } catch (error) {
      const had = known.get(uri)
      if (had?.failingSince === undefined)
        log.warn({ client: clientId, err: error }, 'the keys of a client cannot be read')
      if (had === undefined) throw new JwtError('the keys of the client cannot be read', { cause: error })
      had.failingSince ??= now()
      if (now() < had.failingSince + STALE) return had.keys
      throw new JwtError('the keys of the client cannot be read', { cause: error })
    }
  }

  async function list({ clientId, metadata }: KeyHolder): Promise<readonly PublicJwk[]> {
    const { jwks, jwks_uri: uri } = metadata
    if (typeof uri === 'string') return byAddress(clientId, uri)
    try {
      return typeof jwks === 'object' && jwks !== null ? byValue(jwks) : []
    } catch (cause) {
      throw cause instanceof JwkSetError ? new JwtError(`its jwks ${cause.message}`, { cause }) : cause
    }
  }

  /** Once more from the address, where that was not done for the sake of a missing key a moment ago. */
  async function listAgain({ clientId, metadata }: KeyHolder): Promise<readonly PublicJwk[]> {
    const { jwks_uri: uri } = metadata
    if (typeof uri !== 'string' || now() < (askedAgain.get(uri) ?? -Infinity) + AGAIN) return []
    askedAgain.set(uri, now())
    return byAddress(clientId, uri, 0)
  }

  async function signersOf(client: KeyHolder, { alg, kid }: UnverifiedJwt): Promise<PublicJwk[]> {
    const mayHave = (key: PublicJwk): boolean => (kid === undefined || key.kid === kid) && fits(key, alg)
    const found = (await list(client)).filter(mayHave)
    return found.length > 0 ? found : (await listAgain(client)).filter(mayHave)
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
      const signers = client === null ? [] : await signersOf(client, unverified)
      const keys = signers.length === 0 ? [await decoys.of(unverified.alg)] : signers.map(({ key }) => key)
      const isGood = (await isSignedBy(jwt, unverified, keys)) && signers.length > 0
      if (!isGood && signers.length === 0) throw new JwtError('the client has no such key')
      if (!isGood) throw new JwtError('its signature is not good')
      return unverified.claims
    },
    async hasCertificate(client, { raw }) {
      const isIts = ({ x5c: [own = ''] }: PublicJwk): boolean => raw.equals(Buffer.from(own, 'base64'))
      return (await list(client)).some(isIts) || (await listAgain(client)).some(isIts)
    },
    async findForEncryption(client, algorithm) {
      const found = (await list(client)).filter((key) => fits(key, algorithm))
      const keys = found.length > 0 ? found : (await listAgain(client)).filter((key) => fits(key, algorithm))
      return keys.find(({ use }) => use === 'enc') ?? keys[0] ?? null
    },
  }
}
