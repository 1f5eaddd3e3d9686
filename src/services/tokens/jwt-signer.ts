/**
 * Signs every JWT of ours with the key that is current. ES256 may be signed in this file alone by `node:crypto`,
 * synchronously: jose goes through the thread pool for each signature, which costs more than the signature
 * (docs/adr/0003). `jose` signs all others, and ES256 too where `synchronous` is off; the tests verify both with jose. What another
 * store than the database has signs there (docs/adr/0064).
 */
import { SignJWT, type JWTHeaderParameters } from 'jose'
import { sign, type KeyObject } from 'node:crypto'
import type { Bag } from '../../protocol/bag.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import type { RingKey } from '../keys/ring-key.ts'

export interface SignJwtOptions {
  /** One of the key ring's `algorithms`. */
  algorithm: string
  /** The header's `typ`; none by default, as in ID tokens. */
  typ?: string
}

/** Returns the compact JWT over `claims`, as they are. Throws for an algorithm that is not offered. */
export type SignJwt = (claims: Bag, options: SignJwtOptions) => Promise<string>

/** `synchronous`: whether ES256 is signed on the request's path. */
export function createJwtSigner(
  keyRing: Pick<KeyRing, 'provide' | 'signer' | 'sign'>,
  synchronous: boolean,
): SignJwt {
  const signNow = createOwnSigner()
  return async (claims, { algorithm, typ }) => {
    await keyRing.provide(algorithm)
    const key = keyRing.signer(algorithm)
    const { privateKey } = key
    if (privateKey === undefined) {
      const input = `${encode(headerOf(key, typ))}.${encode(claims)}`
      const signature = await keyRing.sign(key, Buffer.from(input, 'latin1'))
      return `${input}.${Buffer.from(signature).toString('base64url')}`
    }
    if (synchronous && algorithm === 'ES256') return signNow(key, privateKey, typ, claims)
    return new SignJWT({ ...claims }).setProtectedHeader(headerOf(key, typ)).sign(privateKey)
  }
}

function headerOf({ algorithm, kid }: RingKey, typ: string | undefined): JWTHeaderParameters {
  return { alg: algorithm, ...(typ === undefined ? {} : { typ }), kid }
}

/** With the headers of a key encoded once: of each there are as many as there are types. */
function createOwnSigner(): (key: RingKey, by: KeyObject, typ: string | undefined, claims: Bag) => string {
  const headers = new WeakMap<RingKey, Map<string | undefined, string>>()

  function encodedHeader(key: RingKey, typ: string | undefined): string {
    const ofKey = headers.get(key) ?? new Map<string | undefined, string>()
    headers.set(key, ofKey)
    const encoded = ofKey.get(typ) ?? encode(headerOf(key, typ))
    ofKey.set(typ, encoded)
    return encoded
  }

  return (key, by, typ, claims) => {
    const input = `${encodedHeader(key, typ)}.${encode(claims)}`
    const options = { key: by, dsaEncoding: 'ieee-p1363' } as const
    return `${input}.${sign('sha256', Buffer.from(input, 'latin1'), options).toString('base64url')}`
  }
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
