/** The keys of clients: which has signed what, where they come from, and for how long they serve while nobody answers. */
import { createPrivateKey, randomUUID } from 'node:crypto'
import { CompactEncrypt, compactDecrypt, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import pino from 'pino'
import { expect, test, vi } from 'vitest'
import type { Client } from '../../../src/doors/client.ts'
import { createClientEncryption } from '../../../src/services/clients/client-encryption.ts'
import { createClientKeys, type ExpectedJwt } from '../../../src/services/clients/client-keys.ts'
import { createGuardedFetch } from '../../../src/services/outbound/guarded-fetch.ts'
import { TooManyUnderWay } from '../../../src/services/outbound/too-many.ts'
import { certify, jwkOf, type TestCertificate } from '../../support/certificates.ts'
import { forgeriesOf } from '../../support/forged-jwts.ts'
import { startReceiver } from '../../support/receiver.ts'

const US = 'https://as.example'
const expected: ExpectedJwt = {
  types: [undefined, 'jwt'],
  audiences: [US],
  subject: 'c',
  required: ['sub', 'exp', 'jti'],
  longest: 3600,
}

async function createKey(kid: string | undefined, alg = 'ES256') {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  const named = kid === undefined ? {} : { kid }
  return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), ...named } }
}
type Key = Awaited<ReturnType<typeof createKey>>

const clientWith = (metadata: object): Client => ({
  clientId: 'c',
  registeredAt: 0,
  grantableScopes: new Set(),
  scope: [],
  grantTypes: new Set(),
  authenticationMethod: 'private_key_jwt',
  metadata: { ...metadata },
  isPublic: () => false,
})
const withKeys = (...keys: JWK[]): Client => clientWith({ jwks: { keys } })

async function sign(
  { privateKey, kid, alg }: Key,
  claims: object = {},
  header: object = {},
): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  const usual = { iss: 'c', sub: 'c', aud: US, jti: randomUUID(), iat: now, exp: now + 60 }
  return new SignJWT({ ...usual, ...claims })
    .setProtectedHeader({ alg, ...(kid === undefined ? {} : { kid }), ...header })
    .sign(privateKey)
}

const silent = pino({ level: 'silent' })
const noFetch = createClientKeys(createGuardedFetch({ unsafeOrigins: [] }), silent)

async function answer(client: Client, jwt: string, more: Partial<ExpectedJwt> = {}): Promise<string> {
  return noFetch.verify(client, jwt, { ...expected, ...more }).then(
    ({ sub }) => `good: ${String(sub)}`,
    (error: Error) => `${error.constructor.name}: ${error.message}`,
  )
}

test.each([
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
])('what the client has signed by %s is good, with a kid or without', async (alg) => {
  const [named, nameless] = await Promise.all([createKey('k', alg), createKey(undefined, alg)])
  expect(await answer(withKeys(named.jwk), await sign(named))).toBe('good: c')
  expect(await answer(withKeys(named.jwk), await sign(nameless))).toBe('JwtError: its signature is not good')
  expect(await answer(withKeys(named.jwk, nameless.jwk), await sign(nameless))).toBe('good: c')
  expect(await answer(withKeys(named.jwk), await sign(named), { algorithms: ['HS256'] })).toBe(
    'JwtError: its alg is not taken',
  )
})

/** Not forged here: a client has no `kid` of ours to keep to, and nothing else is changed. */
const NO_FORGERY = new Set(['no kid'])

test('no forgery of it is', async () => {
  const key = await createKey('k')
  const good = await sign(key)
  const required = ['iss', 'aud', 'sub', 'exp', 'jti']
  const ofKey = {
    privateKey: createPrivateKey({ key: await privateJwkOf(key), format: 'jwk' }),
    publicJwk: key.jwk,
  }
  const forgeries = Object.entries(await forgeriesOf(good, ofKey, required))
  expect(forgeries.length).toBeGreaterThan(30)
  for (const [what, forged] of forgeries) {
    const told = await answer(withKeys(key.jwk), forged)
    const wanted = NO_FORGERY.has(what) ? /^good: c$/ : /^JwtError: /
    expect([what, told]).toEqual([what, expect.stringMatching(wanted)])
  }
})

async function privateJwkOf({ privateKey }: Key): Promise<JWK & { kty: string }> {
  return (await exportJWK(privateKey)) as JWK & { kty: string }
}

const seconds = (ahead: number): number => Math.floor(Date.now() / 1000) + ahead
test.each<[string, () => object, string]>([
  ['ended a moment ago, by another clock', () => ({ exp: seconds(-5) }), 'good: c'],
  ['has ended', () => ({ exp: seconds(-60) }), 'ExpiredJwtError: it has expired'],
  ['ends too late', () => ({ exp: seconds(4000) }), 'JwtError: its exp is more than 3600 seconds ahead'],
  ['is good from 8 seconds ahead', () => ({ nbf: seconds(8), iat: seconds(8) }), 'good: c'],
  ['is good from 60 seconds ahead', () => ({ nbf: seconds(60) }), 'JwtError: its nbf is ahead'],
  ['was made 60 seconds ahead', () => ({ iat: seconds(60) }), 'JwtError: its iat is ahead'],
  ['has an exp that is none', () => ({ exp: null }), 'JwtError: it has an instant that is no number'],
  ['is for us in a list', () => ({ aud: [US] }), 'good: c'],
  ['is for us and others', () => ({ aud: [US, 'https://other.example'] }), 'JwtError: its aud is another'],
  ['is for nobody', () => ({ aud: [] }), 'JwtError: its aud is another'],
  ['is for an object', () => ({ aud: { [US]: 1 } }), 'JwtError: its aud is another'],
  ['has an empty jti', () => ({ jti: '' }), 'JwtError: its jti is no text, or too long'],
  ['has a jti that is a number', () => ({ jti: 7 }), 'JwtError: its jti is no text, or too long'],
  ['has a jti without end', () => ({ jti: 'j'.repeat(600) }), 'JwtError: its jti is no text, or too long'],
])('one that %s', async (_what, claims, told) => {
  const key = await createKey('k')
  expect(await answer(withKeys(key.jwk), await sign(key, claims()))).toBe(told)
})

test.each<[string, object, string]>([
  ['typ JWT', { typ: 'JWT' }, 'good: c'],
  ['typ in full', { typ: 'application/jwt' }, 'good: c'],
  ['another typ', { typ: 'at+jwt' }, 'JwtError: its typ is another'],
  ['a jwk of its own', { jwk: { kty: 'oct', k: '' } }, 'JwtError: its header brings a key along'],
  ['cty', { cty: 'JWT' }, 'JwtError: it is nested'],
])('one with %s in its header', async (_what, header, told) => {
  const key = await createKey('k')
  expect(await answer(withKeys(key.jwk), await sign(key, {}, header))).toBe(told)
})

test('a list of audiences is refused where one text is asked for', async () => {
  const key = await createKey('k')
  expect(await answer(withKeys(key.jwk), await sign(key, { aud: [US] }), { single: true })).toBe(
    'JwtError: its aud is another',
  )
})

test('a key for encryption has signed nothing', async () => {
  const key = await createKey('k')
  expect(await answer(withKeys({ ...key.jwk, use: 'enc' }), await sign(key))).toBe(
    'JwtError: the client has no such key',
  )
  expect(await answer(withKeys(), await sign(key))).toBe('JwtError: the client has no such key')
  expect(await answer(clientWith({}), await sign(key))).toBe('JwtError: the client has no such key')
})

test.each([
  ['RSA-OAEP-256', {}],
  ['ECDH-ES', {}],
  ['ECDH-ES+A256KW', { crv: 'X25519' }],
])('something is encrypted to its key for that, by %s', async (alg, options) => {
  const signing = await createKey('s', alg.startsWith('RSA') ? 'RS256' : 'ES256')
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true, ...options })
  const encryption = { ...(await exportJWK(publicKey)), kid: 'e', use: 'enc' }
  const found = await noFetch.findForEncryption(withKeys({ ...signing.jwk, use: 'sig' }, encryption), alg)
  expect(found).toMatchObject({ kid: 'e' })
  const jwe = await new CompactEncrypt(Buffer.from('hello'))
    .setProtectedHeader({ alg, enc: 'A256GCM' })
    .encrypt(found!.key)
  expect(Buffer.from((await compactDecrypt(jwe, privateKey)).plaintext).toString()).toBe('hello')
  expect(await noFetch.findForEncryption(withKeys({ ...signing.jwk, use: 'sig' }), alg)).toBeNull()
})

/** A client whose keys are at an address, by a clock that the test turns. */
async function published(first: unknown) {
  let [document, status, time] = [first, 200, Date.now()]
  const receiver = await startReceiver((_request, response) => {
    response.writeHead(status, { 'cache-control': 'max-age=3600' })
    response.end(typeof document === 'string' ? document : JSON.stringify(document))
  })
  const origin = `http://127.0.0.1:${receiver.port}`
  const now = () => time
  const guarded = createGuardedFetch({ unsafeOrigins: [origin], now })
  let crowded = false
  const log = pino({ level: 'silent' })
  const warn = vi.spyOn(log, 'warn')
  const keys = createClientKeys(
    async (address, request) => {
      if (crowded) throw new TooManyUnderWay()
      return guarded(address, request)
    },
    log,
    { now, elapsed: now },
  )
  const client = clientWith({ jwks_uri: `${origin}/jwks` })
  const free = { ...expected, required: [], longest: 1e6 }
  return {
    keys,
    client,
    publish: (next: unknown, as = 200) => ([document, status] = [next, as]),
    /** Whether no place is left for asking anybody. */
    crowd: (now: boolean) => (crowded = now),
    warnings: () => warn.mock.calls.length,
    /** Seconds. */
    wait: (much: number) => (time += much * 1000),
    close: receiver.close,
    asked: () => receiver.received.length,
    findForEncryption: async (algorithm: string) => keys.findForEncryption(client, algorithm),
    check: async (key: Key) =>
      keys.verify(client, await sign(key, { exp: undefined }), free).then(
        () => 'good',
        ({ message }: Error) => message,
      ),
  }
}

test('keys at an address are asked for once, however many come', async () => {
  const key = await createKey('one')
  const { check, asked } = await published({ keys: [key.jwk] })
  expect(new Set(await Promise.all(Array.from({ length: 20 }, async () => check(key))))).toEqual(
    new Set(['good']),
  )
  expect(asked()).toBe(1)
})

test('a key that is missing is asked for again, every 30 seconds at most', async () => {
  const [one, two, made] = await Promise.all(['one', 'two', 'made up'].map(async (kid) => createKey(kid)))
  const { check, asked, wait, publish } = await published({ keys: [one!.jwk] })
  expect(await check(one!)).toBe('good')
  publish({ keys: [two!.jwk] })
  wait(30)
  expect(new Set(await Promise.all(Array.from({ length: 10 }, async () => check(two!))))).toEqual(
    new Set(['good']),
  )
  expect(asked()).toBe(2)
  for (let at = 0; at < 29; at++) {
    expect(await check(made!)).toBe('the client has no such key')
    wait(1)
  }
  expect(asked()).toBe(2)
  wait(1)
  expect(await check(made!)).toBe('the client has no such key')
  expect(asked()).toBe(3)
  expect(await check(one!)).toBe('the client has no such key')
})

test('so is a key to encrypt to', async () => {
  const [signing, sealing] = [await createKey('one'), await createKey('two', 'ECDH-ES')]
  const { findForEncryption, asked, wait, publish } = await published({
    keys: [{ ...signing.jwk, use: 'sig' }],
  })
  expect(await findForEncryption('ECDH-ES')).toBeNull()
  publish({ keys: [sealing.jwk] })
  expect([await findForEncryption('ECDH-ES'), asked()]).toEqual([null, 1])
  wait(30)
  expect(await findForEncryption('ECDH-ES')).toMatchObject({ kid: 'two' })
})

test('while the address is away, a key that it may have by now is not said to be missing', async () => {
  const [one, two] = [await createKey('one'), await createKey('two')]
  const { check, findForEncryption, asked, wait, publish } = await published({ keys: [one.jwk] })
  expect(await findForEncryption('RSA-OAEP-256')).toBeNull()
  publish('away', 500)
  wait(30)
  const unread = 'the keys of the client cannot be read'
  // The second of each within those 30 seconds, which ask nobody.
  for (let tries = 0; tries < 2; tries++) {
    await expect(findForEncryption('RSA-OAEP-256')).rejects.toThrow(unread)
    expect(await check(two)).toBe(unread)
    expect(await check(one)).toBe('good')
  }
  expect(asked()).toBe(2)
  publish({ keys: [one.jwk] })
  wait(30)
  expect(await findForEncryption('RSA-OAEP-256')).toBeNull()
})

test('so is a certificate', async () => {
  const [one, two] = await Promise.all(['/CN=a', '/CN=a'].map(async (subject) => certify(subject)))
  const { keys, client, wait, publish } = await published({ keys: [jwkOf(one!)] })
  const has = async (...shown: TestCertificate[]): Promise<boolean[]> =>
    Promise.all(shown.map(async ({ x509 }) => keys.hasCertificate(client, x509)))
  expect(await has(one!, two!)).toEqual([true, false])
  publish({ keys: [jwkOf(two!)] })
  wait(30)
  expect(await has(two!)).toEqual([true])
  expect(await has(one!)).toEqual([false])
})

test.each<[string, unknown, number]>([
  ['fails', 'away', 500],
  ['says that there is nothing', 'not found', 404],
  ['answers a page', '<!doctype html>', 200],
  ['answers a private key', { keys: [{ kty: 'oct', k: 'AAAA' }] }, 200],
  ['answers a member twice', '{"keys":[],"keys":[]}', 200],
])('while the address %s, what it had serves on, and not for ever', async (_what, document, status) => {
  const key = await createKey('one')
  const { check, wait, publish } = await published({ keys: [key.jwk] })
  expect(await check(key)).toBe('good')
  publish(document, status)
  wait(3601)
  expect(await check(key)).toBe('good')
  wait(599)
  expect(await check(key)).toBe('good')
  wait(3601)
  expect(await check(key)).toBe('the keys of the client cannot be read')
  publish({ keys: [key.jwk] })
  wait(3601)
  expect(await check(key)).toBe('good')
})

test('an empty set is believed: its keys are gone', async () => {
  const key = await createKey('one')
  const { check, wait, publish } = await published({ keys: [key.jwk] })
  expect(await check(key)).toBe('good')
  publish({ keys: [] })
  wait(3601)
  expect(await check(key)).toBe('the client has no such key')
})

test('who never answered has no keys', async () => {
  const key = await createKey('one')
  const { check, close } = await published({ keys: [key.jwk] })
  await close()
  expect(await check(key)).toBe('the keys of the client cannot be read')
})

test('while no place is left to ask anybody, what it had serves on for a while; what nobody knows is for later, and says nothing of the client', async () => {
  const [key, missing] = [await createKey('one'), await createKey('two')]
  const there = await published({ keys: [key.jwk] })
  const { check, wait, crowd, client } = there
  const tooMany = 'too much is asked of others at once; try again'
  crowd(true)
  expect([await check(key), await check(key)]).toEqual([tooMany, tooMany])
  await expect(there.keys.verify(client, await sign(key), expected)).rejects.toMatchObject({
    code: 'temporarily_unavailable',
    status: 503,
    headers: { 'retry-after': expect.any(String) },
  })
  const encryption = createClientEncryption(there.keys)
  // By its class, those who deliver know that nobody was asked.
  await expect(
    encryption.encryptTo(client, 'a logout token', { alg: 'ECDH-ES', enc: 'A256GCM' }),
  ).rejects.toBeInstanceOf(TooManyUnderWay)
  crowd(false)
  expect(await check(key)).toBe('good')
  const before = there.warnings()
  crowd(true)
  for (let tries = 0; tries < 3; tries++) expect(await check(key)).toBe('good')
  expect([await check(missing), there.warnings() - before]).toEqual([tooMany, 1])
  // A crowd that lasts keeps no key alive that was taken back.
  wait(601)
  expect(await check(key)).toBe(tooMany)
  crowd(false)
  expect(await check(key)).toBe('good')
})

test('a key that was missing while no place was left is asked for as soon as there is one', async () => {
  const [key, later] = [await createKey('one'), await createKey('two')]
  const { check, wait, crowd, publish } = await published({ keys: [key.jwk] })
  expect(await check(key)).toBe('good')
  wait(31)
  publish({ keys: [key.jwk, later.jwk] })
  crowd(true)
  expect(await check(later)).toBe('too much is asked of others at once; try again')
  crowd(false)
  expect(await check(later)).toBe('good')
})
