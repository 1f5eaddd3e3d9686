/**
 * Signs every JWT of ours with the key that is current. ES256 may be signed in this file alone by `node:crypto`,
 * synchronously: jose goes through the thread pool for each signature, which costs more than the signature
 * (docs/adr/0003). `jose` signs all others, and ES256 too where `synchronous` is off; the tests verify both with jose.
 */
import { SignJWT } from 'jose'
import { sign } from 'node:crypto'
import type { Bag } from '../../doors.ts'
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
export function createJwtSigner(keyRing: KeyRing, synchronous: boolean): SignJwt {
  return async (claims, { algorithm, typ }) => {
    await keyRing.provide(algorithm)
    const key = keyRing.signer(algorithm)
    const header = { alg: algorithm, ...(typ === undefined ? {} : { typ }), kid: key.kid }
    if (synchronous && algorithm === 'ES256') return signNow(header, claims, key)
    return new SignJWT({ ...claims }).setProtectedHeader(header).sign(key.privateKey)
  }
}

function signNow(header: object, claims: Bag, { privateKey }: RingKey): string {
  const input = `${encode(header)}.${encode(claims)}`
  const options = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
  return `${input}.${sign('sha256', Buffer.from(input, 'latin1'), options).toString('base64url')}`
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
