/** Forgeries of a JWT, for every place that takes one: each is what some verifier somewhere has once believed. */
import { createHmac, createPublicKey, type KeyObject } from 'node:crypto'
import { CompactEncrypt, CompactSign, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

/** A key as the server signs with it. */
export interface ForgersKey {
  privateKey: KeyObject | undefined
  publicJwk: JWK
}

export const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
export const decode = (part: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>

/** `good` as nobody without the key could change it, and as the key itself signs what must not count (`required` gone). */
export async function forgeriesOf(
  good: string,
  key: ForgersKey,
  required: readonly string[],
): Promise<Record<string, string>> {
  const [head, body, signature] = good.split('.') as [string, string, string]
  const [header, claims] = [decode(head), decode(body)]
  const alg = String(header['alg'])
  const withHeader = (members: object, sign = signature): string =>
    [encode({ ...header, ...members }), body, sign].join('.')
  const pem = createPublicKey({ key: key.publicJwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
  const hmac = (secret: string | Buffer): string => {
    const input = `${encode({ ...header, alg: 'HS256' })}.${body}`
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
  }
  const mine = await generateKeyPair(alg, { extractable: true })
  const jwk = await exportJWK(mine.publicKey)
  const byMine = (members: object): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ ...header, alg, ...members }).sign(mine.privateKey)
  const byOurs = (members: object, changed: object = {}): Promise<string> =>
    new SignJWT({ ...claims, ...changed })
      .setProtectedHeader({ ...header, alg, ...members })
      .sign(key.privateKey!, { crit: { 'urn:example:must': true } })
  const json = Buffer.from(body, 'base64url').toString()
  const nested = await new CompactSign(Buffer.from(good))
    .setProtectedHeader({ ...header, alg, cty: 'JWT' })
    .sign(key.privateKey!)
  const toUs = await generateKeyPair('ECDH-ES', { extractable: true })
  const sealed = await new CompactEncrypt(Buffer.from(good))
    .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A256GCM', cty: 'JWT', kid: String(header['kid']) })
    .encrypt(toUs.publicKey)
  const without = await Promise.all(
    required.map(async (name) => [`no ${name}`, await byOurs({}, { [name]: undefined })] as const),
  )
  return {
    'alg none': withHeader({ alg: 'none' }, ''),
    'alg none with a signature': withHeader({ alg: 'none' }),
    'alg nOnE': withHeader({ alg: 'nOnE' }, ''),
    'HS256 keyed by the public key as PEM': hmac(pem),
    'HS256 keyed by the public key as JWK': hmac(JSON.stringify(key.publicJwk)),
    'HS256 keyed by nothing': hmac(''),
    'signed by somebody else under our kid': await byMine({}),
    'an embedded jwk': await byMine({ jwk }),
    'an embedded jwk without kid': await byMine({ jwk, kid: undefined }),
    'a jku': await byMine({ jku: 'https://evil.example/jwks' }),
    'an x5u and x5c': await byMine({ x5u: 'https://evil.example/cert', x5c: ['MIIB'] }),
    'an unknown kid': await byOurs({ kid: 'unknown' }),
    'no kid': await byOurs({ kid: undefined }),
    crit: await byOurs({ crit: ['urn:example:must'], 'urn:example:must': 1 }),
    'b64 false': withHeader({ b64: false, crit: ['b64'] }),
    'typ logout+jwt': await byOurs({ typ: 'logout+jwt' }),
    'typ dpop+jwt': await byOurs({ typ: 'dpop+jwt' }),
    'another issuer': await byOurs({}, { iss: 'https://other.example' }),
    'an issuer with a slash more': await byOurs({}, { iss: `${String(claims['iss'])}/` }),
    'an expiry that is a text': await byOurs({}, { exp: '9999999999' }),
    'another subject under the old signature': [head, encode({ ...claims, sub: 'root' }), signature].join('.'),
    'a member twice, the header': `${encode(JSON.stringify(header).replace('{', '{"alg":"none",'))}.${body}.${signature}`,
    'a member twice, the payload': `${head}.${encode(json.replace('{', '{"sub":"root",'))}.${signature}`,
    'one in another': nested,
    'one in a JWE': sealed,
    'a huge one': [head, encode({ ...claims, more: 'x'.repeat(6000) }), signature].join('.'),
    'no signature': `${head}.${body}.`,
    'two parts': `${head}.${body}`,
    'five parts': `${good}.${body}.${signature}`,
    'cut by one': good.slice(0, -1),
    'zeros for a signature': `${head}.${body}.${encode('\0'.repeat(64))}`,
    'a payload that is no JSON': `${head}.${encode('hello')}.${signature}`,
    'a header that is null': `${encode('null')}.${body}.${signature}`,
    ...Object.fromEntries(without),
  }
} // prettier-ignore
