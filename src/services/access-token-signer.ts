/**
 * Signs access tokens. ES256 may be signed in this file alone by `node:crypto`, synchronously: jose goes through
 * the thread pool for each signature, which costs more than the signature (docs/adr/0003). `jose` signs all others,
 * and these too where `synchronous` is off; the tests verify both with jose.
 */
import { SignJWT } from 'jose'
import { sign } from 'node:crypto'
import type { Bag } from '../doors.ts'
import type { KeyRing } from './key-ring.ts'

/** Returns the compact JWT of RFC 9068 over `claims`, as they are. */
export type SignAccessToken = (claims: Bag) => Promise<string> | string

export function createAccessTokenSigner(
  keyRing: KeyRing,
  synchronous: boolean,
  algorithm = 'ES256',
): SignAccessToken {
  return (claims) => {
    const key = keyRing.signer(algorithm)
    if (!synchronous || algorithm !== 'ES256') {
      return new SignJWT({ ...claims })
        .setProtectedHeader({ alg: algorithm, typ: 'at+jwt', kid: key.kid })
        .sign(key.privateKey)
    }
    const input = `${key.accessTokenHeader}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
    const signature = sign('sha256', Buffer.from(input, 'latin1'), {
      key: key.privateKey,
      dsaEncoding: 'ieee-p1363',
    })
    return `${input}.${signature.toString('base64url')}`
  }
}
