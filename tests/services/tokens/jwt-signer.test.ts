/** Every algorithm, both ways of ES256, and what an ID token must be to be taken for ours. */
import {
  createRemoteJWKSet,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  jwtVerify,
  SignJWT,
} from 'jose'
import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { createJwtSigner, type SignJwt } from '../../../src/services/tokens/jwt-signer.ts'
import { createOwnJwtVerifier } from '../../../src/services/tokens/own-jwt-verifier.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { startServer } from '../../support/server.ts'

const { server, url, database } = await startServer()
const { keys } = kernelOf(server)
const sign = createJwtSigner(keys, true)
const signSlowly = createJwtSigner(keys, false)
const verifier = createOwnJwtVerifier(keys, url)

const now = Math.floor(Date.now() / 1000)
const idToken = { iss: url, sub: 'user', aud: 'client', iat: now, exp: now + 60, nonce: 'ü"\n' }
const encode = (part: object | string): string =>
  Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')

test.each<[string, string, SignJwt]>([
  ['RS256', 'by jose', sign],
  ['PS256', 'by jose', sign],
  ['EdDSA', 'by jose', sign],
  ['ES256', 'at once', sign],
  ['ES256', 'by jose', signSlowly],
])('a stranger verifies %s, signed %s, with the published keys', async (algorithm, _way, signer) => {
  const jwt = await signer(idToken, { algorithm })
  const published = createRemoteJWKSet(new URL(`${url}/jwks`))
  const { payload, protectedHeader } = await jwtVerify(jwt, published, {
    algorithms: [algorithm],
    issuer: url,
    audience: 'client',
  })
  expect(payload).toEqual(idToken)
  expect(protectedHeader).toEqual({ alg: algorithm, kid: keys.signer(algorithm).kid })
  expect(await verifier.verifyIdToken(jwt)).toEqual(idToken)
})

test('the type stands in the header where one is named', async () => {
  const jwt = await sign({ iss: url, sub: 'user' }, { algorithm: 'RS256', typ: 'JWT' })
  expect(decodeProtectedHeader(jwt)).toMatchObject({ alg: 'RS256', typ: 'JWT' })
  expect(await verifier.read(jwt, 'JWT')).toMatchObject({ claims: { iss: url, sub: 'user' } })
})

test('many that ask at once for the first key of an algorithm get one', async () => {
  const other = await startServer()
  const { keys: fresh } = kernelOf(other.server)
  const signOther = createJwtSigner(fresh, true)
  const jwts = await Promise.all(
    Array.from({ length: 8 }, async () => signOther(idToken, { algorithm: 'PS256' })),
  )
  expect(new Set(jwts.map((jwt) => decodeProtectedHeader(jwt).kid)).size).toBe(1)
  expect(await other.database.query(`select from signing_keys where algorithm = 'PS256'`)).toHaveLength(1)
})

test.each(['none', 'HS256', 'RS512', ''])('%j is not signed with', async (algorithm) => {
  await expect(sign(idToken, { algorithm })).rejects.toThrow('is not an algorithm of ours')
})

test('an expired ID token is good as a hint alone', async () => {
  const jwt = await sign({ ...idToken, iat: now - 60, exp: now - 1 }, { algorithm: 'RS256' })
  expect(await verifier.verifyIdToken(jwt)).toBeNull()
  expect(await verifier.verifyIdToken(jwt, { ignoreExpiry: true })).toMatchObject({ sub: 'user' })
})

test('what is not an ID token of ours is not taken for one', async () => {
  const good = await sign(idToken, { algorithm: 'RS256' })
  const [head, body, signature] = good.split('.') as [string, string, string]
  const { kid } = decodeProtectedHeader(good) as { kid: string }
  const { publicJwk, publicKey } = keys.signer('RS256')
  const hmac = (secret: string | Buffer): string => {
    const input = `${encode({ alg: 'HS256', kid })}.${body}`
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
  }
  const mine = await generateKeyPair('RS256')
  const byMine = (header: object): Promise<string> =>
    new SignJWT(idToken).setProtectedHeader({ alg: 'RS256', kid, ...header }).sign(mine.privateKey)
  const refused: Record<string, string> = {
    empty: '',
    'two parts': `${head}.${body}`,
    'alg none': `${encode({ alg: 'none', kid })}.${body}.`,
    'HS256 keyed by the public key as PEM': hmac(publicKey.export({ type: 'spki', format: 'pem' })),
    'HS256 keyed by the public key as JWK': hmac(JSON.stringify(publicJwk)),
    'another algorithm under our kid': `${encode({ alg: 'PS256', kid })}.${body}.${signature}`,
    "our other key's algorithm": `${encode({ alg: 'ES256', kid: keys.signer('ES256').kid })}.${body}.${signature}`,
    'signed by somebody else': await byMine({}),
    'an embedded key': await byMine({ jwk: await exportJWK(mine.publicKey) }),
    'no kid': await new SignJWT(idToken)
      .setProtectedHeader({ alg: 'RS256' })
      .sign(keys.signer('RS256').privateKey!),
    'other claims': `${head}.${encode({ ...idToken, sub: 'admin' })}.${signature}`,
    'another spelling': `${good}=`,
    'a space': ` ${good}`,
    'too long': await sign({ ...idToken, more: 'x'.repeat(20_000) }, { algorithm: 'ES256' }),
    'an access token': await sign(idToken, { algorithm: 'ES256', typ: 'at+jwt' }),
    'a userinfo response': await sign(idToken, { algorithm: 'RS256', typ: 'JWT' }),
    'another issuer': await sign({ ...idToken, iss: 'https://other.example' }, { algorithm: 'RS256' }),
    'no sub': await sign({ ...idToken, sub: undefined }, { algorithm: 'RS256' }),
    'no aud': await sign({ ...idToken, aud: undefined }, { algorithm: 'RS256' }),
    'no exp': await sign({ ...idToken, exp: undefined }, { algorithm: 'RS256' }),
    'exp that is no number': await sign({ ...idToken, exp: `${now + 60}` }, { algorithm: 'RS256' }),
  }
  expect(await verifier.verifyIdToken(good)).toEqual(idToken)
  for (const [name, jwt] of Object.entries(refused))
    expect([name, await verifier.verifyIdToken(jwt, { ignoreExpiry: true })]).toEqual([name, null])
})

test('a hint is good until its key is gone', async () => {
  const jwt = await sign(idToken, { algorithm: 'EdDSA' })
  const { kid = '' } = decodeProtectedHeader(jwt)
  await keys.rotate('EdDSA', 0)
  expect(await verifier.verifyIdToken(jwt)).toEqual(idToken)
  await database.query('update signing_keys set retires_at = now() where kid = $1', [kid])
  await keys.rotate('EdDSA')
  expect(keys.find(kid)).toBeUndefined()
  expect(await verifier.verifyIdToken(jwt)).toBeNull()
})
