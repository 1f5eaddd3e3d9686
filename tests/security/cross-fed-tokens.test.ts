/**
 * Everything that this server gives out, handed in at every place that takes such a thing: each counts where it
 * belongs and nowhere else, and no forgery of it counts anywhere.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { forgeriesOf } from '../support/forged-jwts.ts'
import { exchange, refresh } from '../support/sign-in.ts'
import { createPlaces, JUDGED } from './cross-fed/places.ts'
import { server, web } from './cross-fed/server.ts'
import { createThings, MADE } from './cross-fed/things.ts'
import { isThere } from '../support/left-out.ts'

const { agent, ofWeb, things, registrationUri } = await createThings()
const PLACES = createPlaces(things, agent, registrationUri)

describe('nothing is missing here', () => {
  const root = join(import.meta.dirname, '../..')
  /** That others are built on: what makes or judges JWTs for those that are named. */
  const TOOLS = new Set([
    'src/doors/key-store.ts',
    'src/protocol/signed-jwt.ts',
    'src/services/clients/client-encryption.ts',
    'src/services/clients/client-keys.ts',
    'src/services/clients/sealed-secrets.ts',
    'src/services/keys/decryption-keys.ts',
    'src/services/tokens/jwt-signer.ts',
    'src/services/tokens/own-jwt-verifier.ts',
    'src/services/tokens/signed-statements.ts',
    'src/services/tokens/token-services.ts',
    'src/services/tokens/token-verifier.ts',
    'plugins/oauth/index.ts',
    // It believes nothing of what it reads.
    'src/protocol/request-object.ts',
    // What upstreams say is for tests/plugins/upstreams.
    'plugins/upstreams/sign-out.ts',
    // By a key that is none of ours, for Apple alone: tests/plugins/upstreams/apple.test.ts.
    'plugins/upstreams/apple.ts',
  ])

  /** The package for APIs elsewhere, what signs for others in the place of a key, and the kits for tests. */
  const ELSEWHERE = /^(?:plugins\/(?:require-scope|pkcs11)|src\/(?:testing|services\/keys))\//

  /** The files of which the source has this, beside tools and what is elsewhere. */
  async function filesWith(pattern: RegExp): Promise<string[]> {
    const found: string[] = []
    for (const folder of ['src', 'plugins'])
      for (const file of await readdir(join(root, folder), { recursive: true })) {
        const path = `${folder}/${file}`
        if (!path.endsWith('.ts') || ELSEWHERE.test(path) || TOOLS.has(path)) continue
        const code = (await readFile(join(root, path), 'utf8')).replaceAll(/^\s*(?:\/?\*|\/\/).*$/gm, '')
        if (pattern.test(code)) found.push(path)
      }
    return found
  }

  test('of what makes JWTs', async () => {
    const makers = await filesWith(
      /\b(?:signStatement|signJwt|encryptTo|sign)\(|\bnew (?:SignJWT|CompactSign|CompactEncrypt|EncryptJWT|FlattenedEncrypt)\b/,
    )
    expect(makers.toSorted()).toEqual(Object.keys(MADE).toSorted())
    const needs: Readonly<Record<string, string>> = {
      'ID-JAG': 'latchkey-token-exchange',
      'security event token': 'latchkey-shared-signals',
    }
    const isMade = (one: string): boolean => needs[one] === undefined || isThere(needs[one])
    for (const made of Object.values(MADE).flat().filter(isMade))
      expect(things[made]).toMatch(/^ey[\w-]+(?:\.[\w-]*){2,4}$/)
  })

  test('of what takes JWTs', async () => {
    const judges = await filesWith(
      /\b(?:decode(?:Un)?[sS]ignedJwt|decodeJwt|compactVerify|compactDecrypt|jwtVerify|verifyIdToken|clientKeys\.verify|oauth\.verify|createProofs)\b/,
    )
    expect(judges.toSorted()).toEqual(Object.keys(JUDGED).toSorted())
    expect(
      Object.values(JUDGED)
        .flat()
        .filter((place) => PLACES[place] === undefined),
    ).toEqual([])
  })
})

describe('T4: handed in', () => {
  const places = Object.entries(PLACES).filter(([, { needs }]) => needs === undefined || isThere(needs))
  test.each(places)('%s', async (_place, { takes, tries }) => {
    const taken: string[] = []
    for (const [name, thing] of Object.entries(things)) if (await tries(thing)) taken.push(name)
    expect(taken).toEqual(takes)
  })
})

test('revocation takes none of it for another, and harms nothing that it does not name', async () => {
  const others = Object.entries(things).filter(([name]) => !['access token', 'refresh token'].includes(name))
  for (const [name, token] of others) {
    const { status } = await server.post('/revoke', { token }, web.basic)
    expect([name, [200, 400].includes(status)]).toEqual([name, true])
  }
  expect(await PLACES['userinfo']!.tries(things['access token']!)).toBe(true)
  expect(await PLACES['userinfo']!.tries(things['opaque access token']!)).toBe(true)
  expect(await PLACES['the session of a browser']!.tries(things['session cookie']!)).toBe(true)
})

describe('T5: forgeries', () => {
  const keyOf = (algorithm: string) => kernelOf(server.server).keys.signer(algorithm)

  test('of an access token open neither userinfo nor a route, and are inactive', async () => {
    const claims = ['iss', 'sub', 'client_id', 'jti', 'iat', 'exp', 'aud']
    for (const [name, forged] of Object.entries(await forgeriesOf(ofWeb.access_token, keyOf('ES256'), claims)))
      for (const place of ['userinfo', 'userinfo, by query', 'a guarded route'])
        expect([name, place, await PLACES[place]!.tries(forged)]).toEqual([name, place, false])
  })

  test('of an ID token are no hint, neither to sign in nor to sign out', async () => {
    const claims = ['iss', 'sub', 'aud', 'iat', 'exp']
    for (const [name, forged] of Object.entries(await forgeriesOf(ofWeb.id_token, keyOf('RS256'), claims)))
      for (const place of ['id_token_hint of a request', 'id_token_hint at sign-out'])
        expect([name, place, await PLACES[place]!.tries(forged)]).toEqual([name, place, false])
  })

  test('at last: what was forged here was good all the time', async () => {
    for (const place of ['userinfo', 'a guarded route', 'introspection'])
      expect([place, await PLACES[place]!.tries(ofWeb.access_token)]).toEqual([place, true])
    expect((await exchange(server, things['code']!)).status).toBe(200)
    expect((await refresh(server, things['refresh token']!)).status).toBe(200)
  })
}) // prettier-ignore
