/**
 * The public keys of others, as a JWK set (RFC 7517 §5): what one may hold, and which key an algorithm of RFC 7518, 8037 or
 * 9864 takes. What is dangerous to believe refuses the whole set; a key of a kind that we do not know is passed over.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'
import type { JWK } from 'jose'
import type { Bag } from './bag.ts'
import { isObject } from './json.ts'
import { reason, type Message } from './message.ts'

/** A public key that signatures are checked with, or that something is encrypted to. */
export interface PublicJwk {
  readonly kid: string | undefined
  /** Undefined where it is for both. */
  readonly use: 'sig' | 'enc' | undefined
  /** The only algorithm that it is for, where it names one. */
  readonly alg: string | undefined
  readonly key: KeyObject
  /** Its public members. */
  readonly jwk: JWK
  /** Certificates in DER, base64 (RFC 7517 §4.7), the key's own first. */
  readonly x5c: readonly string[]
}

interface KeyType {
  readonly kty: string
  readonly crv?: readonly string[]
}

const RSA: KeyType = { kty: 'RSA' }
const EDWARDS: KeyType = { kty: 'OKP', crv: ['Ed25519'] }
const AGREEMENT: readonly KeyType[] = [
  { kty: 'EC', crv: ['P-256', 'P-384', 'P-521'] },
  { kty: 'OKP', crv: ['X25519'] },
]

/** Asymmetric signatures only, so that no shared secret can ever be a key. */
const SIGNATURES: ReadonlyMap<string, readonly KeyType[]> = new Map([
  ['RS256', [RSA]],
  ['RS384', [RSA]],
  ['RS512', [RSA]],
  ['PS256', [RSA]],
  ['PS384', [RSA]],
  ['PS512', [RSA]],
  ['ES256', [{ kty: 'EC', crv: ['P-256'] }]],
  ['ES384', [{ kty: 'EC', crv: ['P-384'] }]],
  ['ES512', [{ kty: 'EC', crv: ['P-521'] }]],
  ['EdDSA', [EDWARDS]],
  ['Ed25519', [EDWARDS]],
])
const KEY_MANAGEMENT: ReadonlyMap<string, readonly KeyType[]> = new Map([
  ['RSA-OAEP', [RSA]],
  ['RSA-OAEP-256', [RSA]],
  ['RSA-OAEP-384', [RSA]],
  ['RSA-OAEP-512', [RSA]],
  ['ECDH-ES', AGREEMENT],
  ['ECDH-ES+A128KW', AGREEMENT],
  ['ECDH-ES+A192KW', AGREEMENT],
  ['ECDH-ES+A256KW', AGREEMENT],
])
/** The algorithms of signatures that a key of a set can have made. */
export const SIGNATURE_ALGORITHMS: readonly string[] = [...SIGNATURES.keys()]
/** Those of FAPI 2.0 Security Profile §5.4.1. */
export const LASTING_ALGORITHMS: readonly string[] = ['PS256', 'ES256', 'EdDSA', 'Ed25519']

const KEY_TYPES = [RSA, EDWARDS, ...AGREEMENT]
const MISFIT = reason('has a key whose alg is not one of its kty')

const MOST_KEYS = 20
const LONGEST_KID = 512
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']
const PUBLIC_MEMBERS = ['kty', 'crv', 'x', 'y', 'n', 'e']
/** Bits: fewer are weak (RFC 7518 §3.3), more make each check a burden. */
const RSA_BITS = { fewest: 2048, most: 8192 }

/** What is wrong with a set, as it follows its name. */
export class JwkSetError extends Error {
  readonly reason: Message

  constructor(reason: Message) {
    super(reason.text)
    this.reason = reason
  }
}

/** Throws `JwkSetError`. An empty set is one: nobody's signature is good by it. */
export function parseJwkSet(document: unknown): readonly PublicJwk[] {
  if (!isObject(document) || !Array.isArray(document['keys']) || !document['keys'].every(isObject))
    throw new JwkSetError(reason('must be a JWK set, an object with an array of keys'))
  const { keys } = document
  if (keys.length > MOST_KEYS) throw new JwkSetError(reason('must not have more than 20 keys'))
  const kids = keys.flatMap(({ kid }) => kid ?? [])
  if (!kids.every((kid) => typeof kid === 'string' && kid !== '' && kid.length <= LONGEST_KID))
    throw new JwkSetError(reason('has a kid that is no text'))
  if (new Set(kids).size < kids.length) throw new JwkSetError(reason('has two keys with one kid'))
  return keys.map(parseKey).filter((key) => key !== undefined)
}

/** Whether this key is for an algorithm, of signatures or of encryption. */
export function fits({ alg, use, jwk }: Pick<PublicJwk, 'alg' | 'use' | 'jwk'>, algorithm: string): boolean {
  const types = typesOf(algorithm)
  const meant = SIGNATURES.has(algorithm) ? 'sig' : 'enc'
  if (types === undefined || (use ?? meant) !== meant) return false
  return (alg === undefined || canonical(alg) === canonical(algorithm)) && isOneOf(types, jwk)
}

function typesOf(algorithm: string): readonly KeyType[] | undefined {
  return SIGNATURES.get(algorithm) ?? KEY_MANAGEMENT.get(algorithm)
}

/** RFC 9864 gives the one curve of EdDSA that we know a name of its own. */
const canonical = (algorithm: string): string => (algorithm === 'EdDSA' ? 'Ed25519' : algorithm)

function isOneOf(types: readonly KeyType[], { kty, crv }: Bag): boolean {
  return types.some((type) => type.kty === kty && (type.crv?.some((one) => one === crv) ?? true))
}

/** Undefined for what is passed over (RFC 7517 §5). */
function parseKey(key: Bag): PublicJwk | undefined {
  const { kty, kid, alg } = key
  if (typeof kty !== 'string') throw new JwkSetError(reason('has a key without kty'))
  if (kty === 'oct' || PRIVATE_MEMBERS.some((member) => member in key))
    throw new JwkSetError(
      reason('must hold public keys alone: a private one that was sent is no secret any more'),
    )
  const uses = usesOf(key)
  if (!isOneOf(KEY_TYPES, key) || uses.length === 0) return undefined
  if (alg !== undefined && typeof alg !== 'string') throw new JwkSetError(MISFIT)
  const types = alg === undefined ? KEY_TYPES : typesOf(alg)
  if (types === undefined) return undefined
  if (!isOneOf(types, key)) throw new JwkSetError(MISFIT)
  const members = PUBLIC_MEMBERS.filter((member) => key[member] !== undefined)
  const jwk = Object.fromEntries(members.map((member) => [member, key[member]])) as JWK
  return {
    kid: kid as string | undefined,
    use: uses.length === 1 ? uses[0] : undefined,
    alg,
    key: importKey(jwk),
    jwk,
    x5c: chainOf(key),
  }
}

/** By `use` and by `key_ops`, where it has them (RFC 7517 §4.2, §4.3): each for which it may be used. */
function usesOf({ use, key_ops: operations }: Bag): ('sig' | 'enc')[] {
  const allows = (...names: string[]): boolean =>
    operations === undefined || (Array.isArray(operations) && names.some((name) => operations.includes(name)))
  return [
    ...((use ?? 'sig') === 'sig' && allows('verify') ? ['sig' as const] : []),
    ...((use ?? 'enc') === 'enc' && allows('encrypt', 'wrapKey', 'deriveKey', 'deriveBits')
      ? ['enc' as const]
      : []),
  ]
}

function importKey(jwk: JWK): KeyObject {
  let key: KeyObject
  try {
    key = createPublicKey({ key: jwk, format: 'jwk' })
  } catch {
    throw new JwkSetError(reason('has a key that is none'))
  }
  if (jwk.kty !== 'RSA') return key
  const { modulusLength: bits = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  if (bits < RSA_BITS.fewest || bits > RSA_BITS.most)
    throw new JwkSetError(reason('has an RSA key of fewer than 2048 bits, or more than 8192'))
  if (publicExponent < 3n || publicExponent % 2n === 0n || publicExponent >= 1n << 64n)
    throw new JwkSetError(reason('has a key that is none'))
  return key
}

function chainOf({ x5c }: Bag): string[] {
  return Array.isArray(x5c) ? x5c.filter((one) => typeof one === 'string') : []
}
