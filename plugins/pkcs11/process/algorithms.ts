/** JWS algorithms by mechanisms of PKCS #11 2.40 (and 3.0 for EdDSA): how a key is made, read and signed with. */
import { createHash } from 'node:crypto'
import { ulong, type Attribute, type Mechanism } from './memory.ts'

/** An object class, a key type, an attribute: by their names in the standard. */
export const CKO = { PUBLIC_KEY: 2, PRIVATE_KEY: 3 } as const
export const CKA = {
  CLASS: 0,
  TOKEN: 1,
  PRIVATE: 2,
  LABEL: 3,
  ID: 0x102,
  SENSITIVE: 0x103,
  SIGN: 0x108,
  VERIFY: 0x10a,
  MODULUS: 0x120,
  MODULUS_BITS: 0x121,
  PUBLIC_EXPONENT: 0x122,
  EXTRACTABLE: 0x162,
  EC_PARAMS: 0x180,
  EC_POINT: 0x181,
} as const
const CKM = {
  RSA_PKCS_KEY_PAIR_GEN: 0,
  SHA256_RSA_PKCS: 0x40,
  SHA256_RSA_PKCS_PSS: 0x43,
  SHA256: 0x250,
  EC_KEY_PAIR_GEN: 0x1040,
  ECDSA: 0x1041,
  EC_EDWARDS_KEY_PAIR_GEN: 0x1055,
  EDDSA: 0x1057,
} as const
/** Mask generation by SHA-256. */
const MGF1_SHA256 = 2

export interface TokenAlgorithm {
  readonly makes: number
  readonly signs: Mechanism
  /** Of the key, as its mechanisms count them; none where they do not say it alike. */
  readonly bits: number | undefined
  /** What the public key is made by: each is tried, since tokens spell a curve differently. */
  readonly shapes: readonly (readonly Attribute[])[]
  /** What the token gets to sign. */
  prepare(input: Uint8Array): Buffer
  /** The members of the public JWK (RFC 7518 §6, RFC 8037 §2), by what the token says of the key. */
  jwk(read: (type: number) => Buffer): Readonly<Record<string, string>>
}

function rsa(signs: Mechanism): TokenAlgorithm {
  return {
    makes: CKM.RSA_PKCS_KEY_PAIR_GEN,
    signs,
    bits: 2048,
    shapes: [[[CKA.MODULUS_BITS, ulong(2048)], [CKA.PUBLIC_EXPONENT, Buffer.from([1, 0, 1])]]],
    prepare: (input) => Buffer.from(input),
    jwk: (read) => ({ kty: 'RSA', n: integer(read(CKA.MODULUS)), e: integer(read(CKA.PUBLIC_EXPONENT)) }),
  }
} // prettier-ignore

/** `oid`: of the curve, in DER, hexadecimal. */
function ecdsa(crv: string, bits: number, oid: string, hash: string): TokenAlgorithm {
  const length = Math.ceil(bits / 8)
  return {
    makes: CKM.EC_KEY_PAIR_GEN,
    signs: { mechanism: CKM.ECDSA, parameter: null },
    bits,
    shapes: [[[CKA.EC_PARAMS, Buffer.from(oid, 'hex')]]],
    prepare: (input) => createHash(hash).update(input).digest(),
    jwk(read) {
      const point = pointOf(read(CKA.EC_POINT), 1 + 2 * length)
      const [x, y] = [point.subarray(1, 1 + length), point.subarray(1 + length)]
      return { kty: 'EC', crv, x: x.toString('base64url'), y: y.toString('base64url') }
    },
  }
}

const PSS = ulong(CKM.SHA256, MGF1_SHA256, 32)

export const TOKEN_ALGORITHMS: ReadonlyMap<string, TokenAlgorithm> = new Map([
  ['RS256', rsa({ mechanism: CKM.SHA256_RSA_PKCS, parameter: null })],
  ['ES256', ecdsa('P-256', 256, '06082a8648ce3d030107', 'sha256')],
  ['PS256', rsa({ mechanism: CKM.SHA256_RSA_PKCS_PSS, parameter: PSS })],
  [
    'EdDSA',
    {
      makes: CKM.EC_EDWARDS_KEY_PAIR_GEN,
      signs: { mechanism: CKM.EDDSA, parameter: null },
      bits: undefined,
      // By its object identifier (RFC 8410 §3), or by its name as 3.0 has it.
      shapes: [
        [[CKA.EC_PARAMS, Buffer.from('06032b6570', 'hex')]],
        [[CKA.EC_PARAMS, Buffer.from('130c656477617264733235353139', 'hex')]],
      ],
      prepare: (input) => Buffer.from(input),
      jwk: (read) => ({
        kty: 'OKP',
        crv: 'Ed25519',
        x: pointOf(read(CKA.EC_POINT), 32).toString('base64url'),
      }),
    },
  ],
  ['ES384', ecdsa('P-384', 384, '06052b81040022', 'sha384')],
  ['ES512', ecdsa('P-521', 521, '06052b81040023', 'sha512')],
])

/** Without leading zeros (RFC 7518 §6.3.1). */
function integer(bytes: Buffer): string {
  const first = bytes.findIndex((byte) => byte !== 0)
  return bytes.subarray(Math.max(first, 0)).toString('base64url')
}

/** DER of an OCTET STRING, as the standard has it, or a BIT STRING, or the bare point, as some tokens do. */
function pointOf(value: Buffer, length: number): Buffer {
  const point = value.subarray(-length)
  const header = value.length - length
  if (point.length !== length || header > 4) throw new Error('the token gave a point that is none of the curve')
  return point
} // prettier-ignore
