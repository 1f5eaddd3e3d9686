/** Signing keys of a test's server: what somebody who got hold of one makes with it, and what is published. */
import { SignJWT } from 'jose'
import type { RingKey } from '../../src/services/keys/ring-key.ts'
import { createUuid } from '../../src/protocol/uuid.ts'
import { decode } from './forged-jwts.ts'
import type { Requests } from './requests.ts'

/** `good` once more, as one that was issued at `at` (milliseconds since the epoch) and lives for an hour. */
export async function forge(key: RingKey, good: string, at = Date.now()): Promise<string> {
  const [head = '', body = ''] = good.split('.')
  const iat = Math.floor(at / 1000)
  const claims = { ...decode(body), jti: createUuid(at), iat, exp: iat + 3600 }
  return new SignJWT(claims)
    .setProtectedHeader({ ...decode(head), alg: key.algorithm, kid: key.kid })
    .sign(key.privateKey!)
}

export async function publishedKids(server: Requests): Promise<string[]> {
  const { keys } = (await (await server.get('/jwks')).json()) as { keys: { kid: string; alg: string }[] }
  return keys.filter(({ alg }) => alg === 'ES256').map(({ kid }) => kid)
}
