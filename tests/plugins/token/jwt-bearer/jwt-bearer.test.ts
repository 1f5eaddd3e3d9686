/**
 * JWTs of trusted issuers as grants (RFC 7523 §2.1, §3), ID-JAGs among them: whom and what they give, and what is refused.
 * @needs latchkey-jwt-bearer
 */
import { generateKeyPairSync, hash, randomUUID } from 'node:crypto'
import { decodeJwt, exportJWK, SignJWT } from 'jose'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { passTime } from '../../../support/clocks.ts'
import { answer } from '../../../support/device.ts'
import { createDpopKey, prove } from '../../../support/dpop.ts'
import { basic } from '../../../support/requests.ts'
import { startServer } from '../../../support/server.ts'
import {
  APP,
  bring,
  createAssertionKey,
  FEW,
  GRANT,
  inSeconds,
  JAG_SEED,
  PLAIN,
  RIVAL,
  said,
  SHELF,
  startIssuer,
} from '../../../support/trusted-issuer.ts'

const [key, second, stranger] = [await createAssertionKey('one'), await createAssertionKey('two'), await createAssertionKey('one')] // prettier-ignore
const there = await startIssuer(key.jwk)
const { issuer } = there
const BY_VALUE = 'https://value.example'
const trusted = {
  issuer,
  jwks_uri: `${there.origin}/jwks`,
  subject_claim: 'email',
  scopes: ['read_books', 'read_shelf'],
  clients: ['app', 'few', 'plain'],
}
/** What is done between the judgement of an assertion and what it gives. */
let meanwhile: (() => Promise<unknown>) | undefined
const server = await startServer(
  { UNSAFE_OUTBOUND_ORIGINS: there.origin, OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false },
  {
    extend: ({ oauth }) => oauth.add('policy', async () => void (await meanwhile?.())),
    seed: {
      ...JAG_SEED,
      trusted_issuers: [
        trusted,
        { issuer: BY_VALUE, jwks: { keys: [key.jwk] }, subject_claim: 'sub', scopes: ['read_books'], claims: { repository: 'org/app' } },
        { issuer: 'https://work.example', jwks: { keys: [key.jwk] }, subject: 'client', scopes: ['read_books'], reusable: true },
        { issuer: 'https://linked.example', jwks: { keys: [key.jwk] }, scopes: ['read_books'] },
        { issuer: 'https://few.example', jwks: { keys: [key.jwk] }, subject_claim: 'email', scopes: ['read_shelf'], resources: [SHELF], audiences: ['urn:us'], algorithms: ['ES256'], max_age: 60 },
      ],
    },
  },
) // prettier-ignore
const { oauth } = server.server
let alice = ''
beforeAll(async () => {
  alice = (await oauth.users.find('alice'))!.id
})

const bad = (reason: string | RegExp) => ({
  status: 400,
  error: 'invalid_grant',
  error_description: expect.stringMatching(reason) as string,
})
const ask = async (claims: object = {}, more: Record<string, string> = {}, by = APP, header: object = {}) =>
  bring(server, by, await said(key, issuer, server.url, claims, header), more)
const jag = (claims: object = {}) => [{ client_id: 'app', ...claims }, {}, APP, { typ: 'oauth-id-jag+jwt' }] as const // prettier-ignore

async function isActive(token: unknown): Promise<unknown> {
  const by = basic(APP.client_id, APP.client_secret)
  const response = await server.post('/introspect', { token: String(token) }, by)
  return ((await response.json()) as { active: boolean }).active
}

test('the user whose verified address it names, as far as issuer and client may, and no refresh token', async () => {
  const got = await ask()
  expect(got).toMatchObject({ status: 200, token_type: 'bearer', scope: 'read_books read_shelf' })
  expect(got).not.toHaveProperty('refresh_token')
  expect(got).not.toHaveProperty('id_token')
  expect(decodeJwt(String(got['access_token']))).toMatchObject({ sub: alice, client_id: 'app', aud: [server.url, SHELF] })
  expect(await isActive(got['access_token'])).toBe(true)
  expect(await ask({}, {}, FEW)).toMatchObject({ status: 200, scope: 'read_books' })
  expect(await ask({}, { scope: 'read_shelf', resource: SHELF })).toMatchObject({ scope: 'read_shelf' })
  expect(await ask({ aud: `${server.url}/token` })).toMatchObject({ status: 200 })
}) // prettier-ignore

describe('what is more than that', () => {
  test.each([
    ['a scope of another client', { scope: 'read_shelf' }, FEW, 'invalid_scope'],
    ['a scope of nobody', { scope: 'read_books burn' }, APP, 'invalid_scope'],
    ['an ID token', { scope: 'openid' }, APP, 'invalid_scope'],
    ['a resource of nobody', { resource: 'https://other.example' }, APP, 'invalid_scope'],
    ['a resource without a scope', { resource: SHELF, scope: 'read_books' }, APP, 'invalid_scope'],
  ] as const)('%s is refused, and the assertion stays good', async (_what, more, by, error) => {
    const assertion = await said(key, issuer, server.url)
    expect(await bring(server, by, assertion, more)).toMatchObject({ status: 400, error })
    expect(await bring(server, by, assertion)).toMatchObject({ status: 200 })
  })
  test('a client that is not registered for the grant, and one that the issuer does not name', async () => {
    expect(await ask({}, {}, PLAIN)).toMatchObject({ status: 400, error: 'unauthorized_client' })
    expect(await ask({}, {}, RIVAL)).toMatchObject(bad('not trusted for this client'))
  })
})

describe('an assertion is refused', () => {
  test.each([
    ['that was made for somebody else', { aud: 'https://other.example' }, {}, 'aud is another'],
    ['for us and somebody else', { aud: [server.url, 'https://other.example'] }, {}, 'aud is another'],
    ['for nobody', { aud: undefined }, {}, 'it has no aud'],
    ['that has expired', { exp: inSeconds(-60) }, {}, 'it has expired'],
    ['without an end', { exp: undefined }, {}, 'it has no exp'],
    ['that ends too late', { exp: inSeconds(90_000) }, {}, 'seconds ahead'],
    ['that is made in the future', { iat: inSeconds(3000) }, {}, 'iat is ahead'],
    ['that is not good yet', { nbf: inSeconds(3000) }, {}, 'nbf is ahead'],
    ['that is old', { iat: inSeconds(-5000) }, {}, 'older than 3600 seconds'],
    ['of an issuer that nobody registered', { iss: 'https://evil.example' }, {}, 'iss is not trusted'],
    ['of no issuer', { iss: undefined }, {}, 'iss is not trusted'],
    ['of an issuer that is no text', { iss: [issuer] }, {}, 'iss is not trusted'],
    ['of nobody', { sub: undefined }, {}, 'it has no sub'],
    ['whose sub is no text', { sub: 7 }, {}, 'sub is no text'],
    ['whose address is no text', { email: ['alice@example.com'] }, {}, 'it has no email'],
    ['without an address', { email: undefined }, {}, 'it has no email'],
    ['whose address is not verified there', { email_verified: false }, {}, 'email is not verified'],
    [
      'whose address is not verified there, as a text',
      { email_verified: 'false' },
      {},
      'email is not verified',
    ],
    ['whose address is verified by nothing', { email_verified: null }, {}, 'email is not verified'],
    ['that is bound to a key', { cnf: { jkt: 'x' } }, {}, 'bound to a key'],
    ['that is bound in a way that nobody knows', { cnf: { kid: 'x' } }, {}, 'bound to a key'],
    ['whose cnf is a text', { cnf: 'x' }, {}, 'bound to a key'],
    ['by which somebody acts who is unknown here', { act: { sub: 'eve' } }, {}, 'act names somebody'],
    ['whose address is not verified here', { email: 'bob@example.com' }, {}, 'nobody here'],
    ['whose address is nobody’s', { email: 'nobody@example.com' }, {}, 'nobody here'],
    ['about an administrator', { email: 'carol@example.com' }, {}, 'is an administrator'],
    ['that is an access token', {}, { typ: 'at+jwt' }, 'typ is another'],
    ['that is a proof of DPoP', {}, { typ: 'dpop+jwt' }, 'typ is another'],
    ['that brings a key along', {}, { jwk: key.jwk }, 'brings a key along'],
    ['that says where its key is', {}, { jku: 'https://evil.example' }, 'brings a key along'],
    ['that is nested', {}, { cty: 'JWT' }, 'nested'],
    ['by a key that nobody published', {}, { kid: 'three' }, 'no such key'],
    ['whose jti is huge', { jti: 'x'.repeat(600) }, {}, 'jti'],
    ['that is huge', { more: 'x'.repeat(20_000) }, {}, 'too long|longer|at most'],
  ] as const)('%s', async (_what, claims, header, reason) => {
    const told = await ask(claims, {}, APP, header)
    expect(told.status).toBe(400)
    expect(String(told['error_description'])).toMatch(new RegExp(reason))
    expect(['invalid_grant', 'invalid_request']).toContain(told['error'])
  })

  test('that nobody signed, or somebody else, or by a shared secret', async () => {
    const good = await said(key, issuer, server.url)
    const [, claims] = good.split('.')
    const head = (alg: string) => Buffer.from(JSON.stringify({ alg, kid: 'one' })).toString('base64url')
    for (const one of [`${head('none')}.${claims}.`, `${head('HS256')}.${claims}.AAAA`, 'x', '', 'a.b.c', `${good}.${good}`])
      expect(await bring(server, APP, one)).toMatchObject({ status: 400 })
    expect(await bring(server, APP, await said(stranger, issuer, server.url))).toMatchObject(bad('signature is not good'))
    expect(await bring(server, APP, good)).toMatchObject({ status: 200 })
  }) // prettier-ignore

  test('of an issuer by what another one signs, or says', async () => {
    const other = await said(key, BY_VALUE, server.url)
    expect(await bring(server, APP, other)).toMatchObject(bad('claims are not those'))
    const ok = await said(key, BY_VALUE, server.url, { repository: 'org/app' })
    expect(await bring(server, APP, ok)).toMatchObject({ status: 200, scope: 'read_books' })
    const listed = await said(key, BY_VALUE, server.url, { repository: ['x', 'org/app'] })
    expect(await bring(server, APP, listed)).toMatchObject({ status: 200 })
  })

  test('of an algorithm, an audience or an age that its issuer does not have', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const few = 'https://few.example'
    await saveIssuer({ issuer: few, jwks: { keys: [key.jwk, { ...(await exportJWK(publicKey)), kid: 'rsa' }] } })
    const by = new SignJWT({ email: 'alice@example.com', sub: 'a', jti: randomUUID() }).setIssuer(few).setAudience('urn:us').setExpirationTime('30s').setProtectedHeader({ alg: 'RS256', kid: 'rsa' })
    expect(await bring(server, APP, await by.sign(privateKey))).toMatchObject(bad('alg is not taken'))
    expect(await bring(server, APP, await said(key, few, server.url))).toMatchObject(bad('aud is another'))
    expect(await bring(server, APP, await said(key, few, 'urn:us', { exp: inSeconds(300) }))).toMatchObject(bad('60 seconds ahead'))
    const got = await bring(server, APP, await said(key, few, 'urn:us', { exp: inSeconds(30) }))
    expect(got).toMatchObject({ status: 200, scope: 'read_shelf' })
    expect(decodeJwt(String(got['access_token'])).aud).toBe(SHELF)
  }) // prettier-ignore
})

const saveIssuer = async (input: object) => kernelOf(server.server).trustedIssuers.save(input)

test('it is good once, also without a jti, unless its issuer says otherwise', async () => {
  for (const jti of [randomUUID(), undefined]) {
    const assertion = await said(key, issuer, server.url, { jti })
    expect(await bring(server, APP, assertion)).toMatchObject({ status: 200 })
    expect(await bring(server, APP, assertion)).toMatchObject(bad('used before'))
  }
  const own = await said(key, 'https://work.example', server.url)
  for (const _ of [1, 2]) {
    const got = await bring(server, APP, own)
    expect(got).toMatchObject({ status: 200, scope: 'read_books' })
    expect(decodeJwt(String(got['access_token'])).sub).toBe('app')
  }
})

test('the log names the issuer of what was given, and has what was refused: also what was used before, however often', async () => {
  const { audit } = oauth
  const logged = 'https://logged.example'
  await saveIssuer({ issuer: logged, jwks: { keys: [key.jwk] }, subject_claim: 'email', scopes: ['read_books'] })
  const assertion = await said(key, logged, server.url)
  expect(await bring(server, APP, assertion)).toMatchObject({ status: 200 })
  const issuedOf = async () => (await audit.list({ type: 'token.issued', client: 'app' })).events.map(({ details }) => details)
  await expect.poll(issuedOf).toContainEqual({ grant_type: GRANT, authorization: expect.any(String), issuer: logged })

  for (let n = 0; n < 20; n++) expect(await bring(server, APP, assertion)).toMatchObject(bad('used before'))
  expect(await bring(server, APP, await said(stranger, logged, server.url))).toMatchObject(bad('signature is not good'))
  expect(await bring(server, APP, await said(key, 'https://nobody.example', server.url))).toMatchObject(bad('iss is not trusted'))
  /** How often each reason was noted, in however many rows. */
  const refused = async () => {
    const { events } = await audit.list({ type: 'token.assertion_refused', client: 'app' }, { limit: 1000 })
    const told = events.map(({ details, count }) => ({ ...(details as { reason: string; issuer?: string }), count }))
    const times = (reason: RegExp, issuer?: string) =>
      told.filter((one) => reason.test(one.reason) && one.issuer === issuer).reduce((sum, { count }) => sum + count, 0)
    return [times(/used before/, logged), times(/signature/, logged), times(/iss is not trusted/) > 0]
  }
  await expect.poll(refused).toEqual([20, 1, true])
  const { events } = await audit.list({ type: 'token.assertion_refused', client: 'app' }, { limit: 1000 })
  expect(JSON.stringify(events)).not.toContain('nobody.example')
}) // prettier-ignore

test('it stays good where the request is refused for what it lacks itself', async () => {
  const assertion = await said(key, issuer, server.url)
  await oauth.clients.update('app', { dpop_bound_access_tokens: true })
  expect(await bring(server, APP, assertion)).toMatchObject({ status: 400, error: 'invalid_dpop_proof' })
  await oauth.clients.update('app', { dpop_bound_access_tokens: null })
  expect(await bring(server, APP, assertion)).toMatchObject({ status: 200 })
  expect(await bring(server, APP, assertion)).toMatchObject(bad('used before'))
})

test('a key that the issuer has from now on is found, and one that is gone is not; for made-up ones nobody asks again', async () => {
  const rotating = 'https://rotating.example'
  await saveIssuer({ ...trusted, issuer: rotating, jwks_uri: `${there.origin}/rotating` })
  const by = async (one: typeof key, kid = one.kid) => bring(server, APP, await said(one, rotating, server.url, {}, { kid }))
  expect(await by(key)).toMatchObject({ status: 200 })
  there.publish(second.jwk)
  passTime(31_000)
  const asked = there.asked()
  expect(await by(second)).toMatchObject({ status: 200 })
  expect(await by(key)).toMatchObject(bad('no such key'))
  for (const kid of ['a', 'b', 'c']) expect(await by(key, kid)).toMatchObject(bad('no such key'))
  expect(there.asked()).toBe(asked + 1)
  vi.useRealTimers()
  there.publish(key.jwk)
}) // prettier-ignore

describe('an ID-JAG', () => {
  test('gives what it says, and no more', async () => {
    const got = await ask(...jag({ scope: 'read_shelf other', resource: SHELF }))
    expect(got).toMatchObject({ status: 200, scope: 'read_shelf' })
    expect(decodeJwt(String(got['access_token']))).toMatchObject({ sub: alice, aud: SHELF })
    expect(await ask(...jag())).toMatchObject({ status: 200, scope: 'read_books read_shelf' })
    const books = await said(key, issuer, server.url, { client_id: 'app', scope: 'read_books' }, { typ: 'oauth-id-jag+jwt' })
    expect(await bring(server, APP, books, { scope: 'read_shelf' })).toMatchObject({ error: 'invalid_scope' })
  }) // prettier-ignore
  test.each([
    ['of another client', { client_id: 'few' }, 'client_id is another'],
    ['of no client', { client_id: undefined }, 'client_id is another'],
    ['for the token endpoint', { aud: `${server.url}/token` }, 'aud'],
    ['for a list', { aud: [server.url] }, 'aud'],
    ['without a jti', { jti: undefined }, 'it has no jti'],
    ['without an iat', { iat: undefined }, 'it has no iat'],
    ['whose scope is a list', { scope: ['read_books'] }, 'scope is no text'],
    ['whose resource is a number', { resource: 7 }, 'resource is no address'],
    ['that is for details', { authorization_details: [{ type: 'payment' }] }, 'authorization_details'],
  ])('%s is refused', async (_what, claims, reason) => {
    expect(await ask(...jag(claims))).toMatchObject(bad(reason))
  })
  test('for another resource is for none of ours', async () => {
    expect(await ask(...jag({ resource: 'https://other.example' }))).toMatchObject({ error: 'invalid_scope' })
    const shelf = await said(key, issuer, server.url, { client_id: 'app', resource: SHELF }, { typ: 'oauth-id-jag+jwt' }) // prettier-ignore
    expect(await bring(server, APP, shelf, { resource: server.url })).toMatchObject({
      error: 'invalid_target',
    })
  })

  test('is for the issuer of this server, whatever else its own issuer is registered with', async () => {
    const by = async (aud: string) => said(key, 'https://few.example', aud, { client_id: 'app', exp: inSeconds(30) }, { typ: 'oauth-id-jag+jwt' })
    expect(await bring(server, APP, await by(server.url))).toMatchObject({ status: 200, scope: 'read_shelf' })
    expect(await bring(server, APP, await by('urn:us'))).toMatchObject(bad('aud is another'))
  }) // prettier-ignore
})

describe('what came of an issuer ends', () => {
  test('when it is disabled, and does not come back with it', async () => {
    const had = (await ask())['access_token']
    const { trustedIssuers } = kernelOf(server.server)
    await trustedIssuers.save({ issuer, disabled: true })
    expect(await isActive(had)).toBe(false)
    expect(await ask()).toMatchObject(bad('iss is not trusted'))
    await trustedIssuers.save({ issuer, disabled: null })
    expect(await isActive(had)).toBe(false)
    expect(await ask()).toMatchObject({ status: 200 })
  })
  test('when it is deleted, also what a client got for itself, and is not that of one that is registered anew', async () => {
    const { trustedIssuers } = kernelOf(server.server)
    const work = (await trustedIssuers.find('https://work.example'))!
    const had = (await bring(server, APP, await said(key, work.issuer, server.url)))['access_token']
    expect(await isActive(had)).toBe(true)
    expect(await trustedIssuers.delete(work.issuer)).toBe(true)
    expect(await isActive(had)).toBe(false)
    await trustedIssuers.save(work)
    expect(await isActive(had)).toBe(false)
  })
  test('when its link is taken away, and where there is none it says nothing of anybody', async () => {
    const linked = 'https://linked.example'
    const bringOne = async () => bring(server, APP, await said(key, linked, server.url, { sub: 'a-1' }))
    expect(await bringOne()).toMatchObject(bad('nobody here'))
    const link = hash('sha256', `${linked}\0a-1`, 'base64url')
    await server.database.query(
      `insert into user_records (user_id, kind, record_id, value, unique_id) values ('${alice}', 'upstream-link', '${link}', '{}', 'upstream-link ${link}')`,
    )
    const got = await bringOne()
    expect(decodeJwt(String(got['access_token'])).sub).toBe(alice)
    expect(await isActive(got['access_token'])).toBe(true)
    await server.database.query(`delete from user_records where record_id = '${link}'`)
    expect(await isActive(got['access_token'])).toBe(false)
  })
  test('for a user who is disabled', async () => {
    const had = (await ask())['access_token']
    await oauth.users.disable('alice')
    expect(await isActive(had)).toBe(false)
    expect(await ask()).toMatchObject(bad('may not sign in'))
    await oauth.users.enable('alice')
  })
})

test('what was said of somebody before everything of theirs ended is good for nothing, and what is said from then on is good', async () => {
  const dave = await oauth.users.create({ username: 'dave', email: 'dave@example.com', email_verified: true })
  const email = 'dave@example.com'
  expect(await ask({ email })).toMatchObject({ status: 200 })
  expect(await ask({ email, iat: undefined })).toMatchObject({ status: 200 })
  await oauth.users.revokeTokens({ id: dave.id })
  // In seconds, as JWTs say it.
  const ended = Math.floor((await oauth.users.get(dave.id)).endedAt! / 1000)
  const before = bad('signed out here since')
  expect(await ask({ email, iat: ended - 1 })).toMatchObject(before)
  expect(await ask({ email, iat: ended })).toMatchObject({ status: 200 })
  // From a clock that is as far ahead as one may be.
  expect(await ask({ email, iat: Date.now() / 1000 + 9.5 })).toMatchObject({ status: 200 })
  // As old as it may be.
  expect(await ask({ email, iat: undefined })).toMatchObject(before)
  expect(await ask({ email, iat: undefined, exp: ended + 3599 })).toMatchObject(before)
  expect(await ask({ email, iat: undefined, exp: ended + 3600 })).toMatchObject({ status: 200 })
}) // prettier-ignore

test('what is granted in the very moment in which everything of its user ends gives nothing', async () => {
  const frank = await oauth.users.create({ username: 'frank', email: 'frank@example.com', email_verified: true })
  const email = 'frank@example.com'
  meanwhile = async () => oauth.users.revokeTokens({ id: frank.id })
  expect(await ask({ email })).toMatchObject({ status: 400, error: 'invalid_grant' })
  meanwhile = undefined
  expect((await oauth.authorizations.listByUser(frank.id)).authorizations).toEqual([])
  expect(await ask({ email })).toMatchObject({ status: 200 })
}) // prettier-ignore

test('what is bound to a key gives who shows that key a token that is bound to it', async () => {
  const holder = await createDpopKey()
  const url = `${server.url}/token`
  const assertion = await said(key, issuer, server.url, { client_id: 'app', cnf: { jkt: holder.thumbprint } }, { typ: 'oauth-id-jag+jwt' })
  const by = async (shown: Record<string, string>) =>
    answer(server.post('/token', { grant_type: GRANT, assertion }, { ...basic(APP.client_id, APP.client_secret), ...shown }))
  expect(await by({ dpop: await prove(await createDpopKey(), { method: 'POST', url }) })).toMatchObject(bad('bound to a key'))
  const got = await by({ dpop: await prove(holder, { method: 'POST', url }) })
  expect(got).toMatchObject({ status: 200, token_type: 'DPoP' })
  expect(decodeJwt(String(got['access_token']))).toMatchObject({ cnf: { jkt: holder.thumbprint } })
}) // prettier-ignore

test('the metadata names the grant and the profile, and neither where it is left out', async () => {
  const of = async (one: typeof server) => (await (await one.get('/.well-known/oauth-authorization-server')).json()) as Record<string, string[]>
  const here = await of(server)
  expect(here['grant_types_supported']).toContain(GRANT)
  expect(here['authorization_grant_profiles_supported']).toEqual(['urn:ietf:params:oauth:grant-profile:id-jag'])
  const without = await of(await startServer({ WITHOUT: 'latchkey-jwt-bearer' }))
  expect(without['grant_types_supported']).not.toContain(GRANT)
  expect(without).not.toHaveProperty('authorization_grant_profiles_supported')
}) // prettier-ignore
