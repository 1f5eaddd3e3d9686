/**
 * Global Token Revocation by issuers elsewhere, with JWTs of their own: whose are good, for how long and how often, and that each names its own people
 * and nobody else's.
 * @needs latchkey-global-token-revocation latchkey-upstreams
 */
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { createAssertionKey, inSeconds } from '../../support/client-assertions.ts'
import { passTime } from '../../support/clocks.ts'
import {
  ask,
  byEmail,
  byId,
  bySubject,
  link,
  ON,
  PATH,
  startIdp,
  vouch,
} from '../../support/global-token-revocation.ts'
import { basic, bearer } from '../../support/requests.ts'
import { startBeside, startServer } from '../../support/server.ts'
import { BOB, getTokens, SEED, WEB } from '../../support/sign-in.ts'

const CAROL = { ...BOB, username: 'carol', email: 'carol@corp.example', email_verified: true }
const DAVE = { ...BOB, username: 'dave', email: 'dave@corp.example', email_verified: true }
const ROOT = { ...BOB, username: 'root', email: 'root@corp.example', email_verified: true, roles: ['admin'] }
const [corp, other, trusted] = [await startIdp(), await startIdp(), await startIdp()]
const CORP = { id: 'corp', issuer: corp.issuer, client_id: 'us', client_secret: 'x', domains: ['corp.example'], trust_email: true } // prettier-ignore
const OTHER = {
  id: 'other',
  issuer: other.issuer,
  client_id: 'us',
  client_secret: 'x',
  domains: ['corp.example'],
}
const TRUSTED = { id: 'trusted', issuer: trusted.issuer }
const origins = [corp, other, trusted].map(({ issuer }) => issuer).join(',')
const server = await startServer(
  { ...ON, UNSAFE_OUTBOUND_ORIGINS: origins },
  {
    seed: {
      ...SEED,
      users: [...SEED.users, CAROL, DAVE, ROOT],
      upstreams: [CORP, OTHER],
      trusted_issuers: [{ issuer: trusted.issuer, jwks_uri: `${trusted.issuer}/jwks` }],
    },
  },
)
const { oauth } = server.server
const endpoint = `${server.url}${PATH}`
const id = async (name: string): Promise<string> => (await oauth.users.find(name))!.id
const [alice, bob, carol, root] = [await id('alice'), await id('bob'), await id('carol'), await id('root')]
await link(server, alice, CORP, 'a')
await link(server, bob, OTHER, 'b')
await link(server, carol, CORP, 'c')
await link(server, carol, OTHER, 'c-there')
await link(server, root, CORP, 'r')
await link(server, bob, TRUSTED, 't')

const events = async () => (await oauth.audit.list({ type: 'user.tokens_revoked' })).events
let before = 0
beforeEach(async () => {
  // What was tried in vain counts for all of this file.
  await server.database.query('delete from throttles')
  before = (await events()).length
})
/** That nobody lost anything. */
const expectNothing = async () => expect(await events()).toHaveLength(before)

const byCorp = async (claims: object = {}, header: object = {}) => vouch(corp, 'us', endpoint, claims, header)

test('a JWT of an upstream ends all that its person has here, and the log names who asked', async () => {
  const { access_token } = await getTokens(server, {}, undefined, CAROL)
  expect((await ask(server, await byCorp(), bySubject(corp.issuer, 'c'))).status).toBe(204)
  expect((await server.get('/userinfo', bearer(access_token))).status).toBe(401)
  expect((await events())[0]).toMatchObject({
    user: carol,
    actor: { kind: 'issuer', id: corp.issuer },
    details: { clients: [{ client: 'web' }] },
  })
})

test.each<[string, object, string?]>([
  ['the address of this endpoint', { aud: endpoint }],
  ['that with a slash', { aud: `${endpoint}/` }],
  ['the issuer of this server', { aud: server.url }],
  ['several of these', { aud: [endpoint, server.url] }],
])('a JWT is for %s', async (_name, claims) => {
  expect((await ask(server, await byCorp(claims), bySubject(corp.issuer, 'a'))).status).toBe(204)
})

describe('a JWT that is not good', () => {
  test('is refused with 401, in the same words whatever is wrong with it', async () => {
    const stranger = { ...corp, key: await createAssertionKey() }
    const es384 = { ...corp, key: await createAssertionKey('one', 'ES384') }
    const secret = {
      ...corp,
      key: { alg: 'HS256', kid: 'one', privateKey: new TextEncoder().encode('x'.repeat(32)) },
    }
    const refused: [string, Promise<string>][] = [
      ['its signature is not good', vouch(stranger, 'us', endpoint)],
      ['the client has no such key', vouch(es384, 'us', endpoint)],
      ['its alg is not taken', vouch(secret, 'us', endpoint)],
      ['the client has no such key', byCorp({}, { kid: 'two' })],
      ['its iss is not known here', byCorp({ iss: 'https://stranger.example' })],
      ['its iss is not known here', byCorp({ iss: server.url })],
      ['its iss is not known here', byCorp({ iss: undefined })],
      ['its signature is not good', byCorp({ iss: other.issuer })],
      ['its sub is not the client_id that we have there', byCorp({ sub: 'another app' })],
      ['its sub is not the client_id that we have there', byCorp({ sub: undefined })],
      ['its aud is another', byCorp({ aud: 'https://elsewhere.example' })],
      ['its aud is another', byCorp({ aud: [endpoint, 'https://elsewhere.example'] })],
      ['it has no aud', byCorp({ aud: undefined })],
      ['it has no exp', byCorp({ exp: undefined })],
      ['it has no iat', byCorp({ iat: undefined })],
      ['it has no jti', byCorp({ jti: undefined })],
      ['its jti is no text, or too long', byCorp({ jti: 'x'.repeat(513) })],
      ['it has expired', byCorp({ exp: inSeconds(-11) })],
      ['its exp is more than 600 seconds ahead', byCorp({ exp: inSeconds(660) })],
      ['its iat is ahead', byCorp({ iat: inSeconds(60) })],
      ['its nbf is ahead', byCorp({ nbf: inSeconds(60) })],
      ['it is older than 600 seconds', byCorp({ iat: inSeconds(-660) })],
    ] // prettier-ignore
    const words = new Set<string>()
    for (const [reason, jwt] of refused) {
      const { status, headers, body } = await ask(server, await jwt, bySubject(corp.issuer, 'a'))
      words.add(JSON.stringify([status, body, headers.get('www-authenticate')]))
      expect(server.output()).toContain(`"reason":"${reason}"`)
      await server.database.query('delete from throttles')
    }
    expect([...words]).toEqual([expect.stringMatching(/^\[401,\{"error":"invalid_token"/)])
    await expectNothing()
  })

  test('of another type is no voucher at all: an ID token or an assertion of the same issuer opens nothing', async () => {
    for (const typ of [undefined, 'JWT', 'at+jwt', 'logout+jwt', 'dpop+jwt'])
      expect((await ask(server, await byCorp({}, { typ }), bySubject(corp.issuer, 'a'))).status).toBe(401)
    await expectNothing()
  })

  test('is in the audit log where its issuer is known, and only there', async () => {
    const count = async () =>
      (await server.server.oauth.audit.list({ type: 'token.assertion_refused' })).events
    await ask(server, await byCorp({ iss: 'https://stranger.example' }), byId(alice))
    await ask(server, await byCorp({ exp: inSeconds(-60) }), byId(alice))
    await expect
      .poll(count)
      .toContainEqual(expect.objectContaining({ details: { reason: 'it has expired', issuer: corp.issuer } }))
    expect(JSON.stringify(await count())).not.toContain('stranger.example')
  })
})

describe('an upstream', () => {
  test('names its own people, and nobody else, whatever it calls them', async () => {
    // Somebody of another one, by each name that they have.
    expect((await ask(server, await byCorp(), bySubject(other.issuer, 'b'))).status).toBe(403)
    expect((await ask(server, await byCorp(), bySubject(server.url, bob))).status).toBe(403)
    expect((await ask(server, await byCorp(), bySubject(corp.issuer, 'b'))).status).toBe(404)
    expect((await ask(server, await byCorp(), byId(bob))).status).toBe(400)
    // Who has an address of its domain, and never came from there.
    expect((await ask(server, await byCorp(), byEmail('dave@corp.example'))).status).toBe(404)
    expect((await ask(server, await byCorp(), byEmail('nobody@corp.example'))).status).toBe(404)
    // Who came from there, with an address that it is not trusted about.
    expect((await ask(server, await byCorp(), byEmail('alice@example.com'))).status).toBe(403)
    await expectNothing()
  })

  test('names them by address where it is trusted about addresses, and else says iss_sub', async () => {
    expect((await ask(server, await byCorp(), byEmail('Carol@CORP.example'))).status).toBe(204)
    const { status, body } = await ask(
      server,
      await vouch(other, 'us', endpoint),
      byEmail('carol@corp.example'),
    )
    expect([status, body!.error, body!.error_description]).toEqual([403, 'access_denied', expect.stringContaining('iss_sub')]) // prettier-ignore
    expect(await events()).toHaveLength(before + 1)
  })

  test('has an administrator of its own signed out, too, who stays one', async () => {
    expect((await ask(server, await byCorp(), bySubject(corp.issuer, 'r'))).status).toBe(204)
    expect(await oauth.users.find('root')).toMatchObject({ roles: ['admin'], disabled: false })
  })

  test('of which somebody was unlinked has nothing to say about them any more', async () => {
    const eve = await oauth.users.create({ username: 'eve', password: 'a password of eve alone' })
    await link(server, eve.id, CORP, 'e')
    expect((await ask(server, await byCorp(), bySubject(corp.issuer, 'e'))).status).toBe(204)
    const [{ id: record } = { id: '' }] = await server.server.linkedSignIns.list(eve.id)
    expect(await server.server.linkedSignIns.unlink(eve.id, record)).toBe(true)
    expect((await ask(server, await byCorp(), bySubject(corp.issuer, 'e'))).status).toBe(404)
  })

  test('that is removed, or is another app there by now, is a stranger from the next request on', async () => {
    const gone = await startIdp()
    const own = await startServer(
      { ...ON, UNSAFE_OUTBOUND_ORIGINS: gone.issuer },
      {
        seed: {
          ...SEED,
          upstreams: [{ id: 'gone', issuer: gone.issuer, client_id: 'us', client_secret: 'x' }],
        },
      },
    )
    const { upstreams } = kernelOf(own.server)
    const someone = (await own.server.oauth.users.find('alice'))!.id
    await link(own, someone, { id: 'gone', issuer: gone.issuer }, 'a')
    const jwt = async (sub: string) => vouch(gone, sub, `${own.url}${PATH}`)
    const status = async (sub: string) => (await ask(own, await jwt(sub), bySubject(gone.issuer, 'a'))).status
    expect(await status('us')).toBe(204)
    await upstreams.save({ id: 'gone', client_id: 'us-again' })
    expect([await status('us'), await status('us-again')]).toEqual([401, 204])
    await upstreams.delete('gone')
    expect(await status('us-again')).toBe(401)
  })
})

describe('a trusted issuer', () => {
  test('names those who are linked with it', async () => {
    const jwt = async () => vouch(trusted, 'whoever it is there', endpoint)
    expect((await ask(server, await jwt(), bySubject(trusted.issuer, 't'))).status).toBe(204)
    expect((await ask(server, await jwt(), bySubject(trusted.issuer, 'x'))).status).toBe(404)
    expect((await ask(server, await jwt(), byEmail('carol@corp.example'))).status).toBe(403)
  })

  test('that is disabled, or speaks of people by their addresses, is a stranger', async () => {
    const { trustedIssuers } = kernelOf(server.server)
    const status = async () => (await ask(server, await vouch(trusted, 'x', endpoint), bySubject(trusted.issuer, 't'))).status // prettier-ignore
    for (const change of [{ disabled: true }, { disabled: false, subject: 'email' }] as const) {
      await trustedIssuers.save({ issuer: trusted.issuer, ...change })
      expect(await status()).toBe(401)
    }
    await trustedIssuers.save({ issuer: trusted.issuer, subject: 'link', claims: { tenant: 'corp' } })
    expect(await status()).toBe(401)
    const jwt = await vouch(trusted, 'x', endpoint, { tenant: 'corp' })
    expect((await ask(server, jwt, bySubject(trusted.issuer, 't'))).status).toBe(204)
  })
})

test('a JWT is good once, over all processes, also where it named nobody or was not allowed to', async () => {
  const beside = await startBeside(server)
  for (const [body, first] of [
    [bySubject(corp.issuer, 'a'), 204],
    [bySubject(corp.issuer, 'nobody'), 404],
    [bySubject(other.issuer, 'b'), 403],
  ] as const) {
    const jwt = await byCorp()
    expect((await ask(server, jwt, body)).status).toBe(first)
    for (const one of [server, beside])
      expect(await ask(one, jwt, bySubject(corp.issuer, 'a'))).toMatchObject({ status: 401, body: { error: 'invalid_token' } }) // prettier-ignore
  }
  // Of two that come at once, one; each issuer names its JWTs by itself.
  const jti = randomUUID()
  const jwt = await byCorp({ jti })
  const answers = await Promise.all(
    [server, beside].map(async (one) => ask(one, jwt, bySubject(corp.issuer, 'c'))),
  )
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 401])
  const same = await vouch(other, 'us', endpoint, { jti })
  expect((await ask(server, same, bySubject(other.issuer, 'b'))).status).toBe(204)
  // What is malformed has named nobody.
  const again = await byCorp()
  expect((await ask(server, again, {})).status).toBe(400)
  expect((await ask(server, again, bySubject(corp.issuer, 'c'))).status).toBe(204)
})

test('an issuer whose keys cannot be read now is told to come back, and so is one whose metadata are of another', async () => {
  const [away, liar] = [await startIdp(), await startIdp()]
  const upstreams = [
    { id: 'away', issuer: away.issuer, client_id: 'us', client_secret: 'x' },
    { id: 'liar', issuer: `${liar.issuer}/`, client_id: 'us', client_secret: 'x' },
  ]
  const own = await startServer(
    { ...ON, UNSAFE_OUTBOUND_ORIGINS: `${away.issuer},${liar.issuer}` },
    { seed: { ...SEED, upstreams } },
  )
  away.fail(true)
  const answer = await ask(own, await vouch(away, 'us', `${own.url}${PATH}`), bySubject(away.issuer, 'a'))
  expect([answer.status, answer.headers.has('retry-after')]).toEqual([503, true])
  const named = { ...liar, issuer: `${liar.issuer}/` }
  expect(
    (await ask(own, await vouch(named, 'us', `${own.url}${PATH}`), bySubject(named.issuer, 'a'))).status,
  ).toBe(503)
})

test('who tries too often from one network is refused there, and an issuer elsewhere is not', async () => {
  const own = await startServer(
    { ...ON, UNSAFE_OUTBOUND_ORIGINS: origins, TRUSTED_PROXIES: '127.0.0.1' },
    { seed: { ...SEED, upstreams: [CORP] } },
  )
  const from = (address: string) => ({ 'x-forwarded-for': address })
  const stranger = { ...corp, key: await createAssertionKey() }
  const body = bySubject(corp.issuer, 'a')
  let status = 401
  for (let tries = 0; status === 401 && tries < 60; tries++) {
    const jwt = await vouch(stranger, 'us', `${own.url}${PATH}`)
    ;({ status } = await ask(own, jwt, body, from('203.0.113.1')))
  }
  expect(status).toBe(429)
  const good = await vouch(corp, 'us', `${own.url}${PATH}`)
  expect((await ask(own, good, body, from('198.51.100.1'))).status).toBe(404)
})

test('a JWT in a query, in a header beside another, or under another scheme is none', async () => {
  const jwt = await byCorp()
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify(bySubject(corp.issuer, 'a'))
  const sent: [string, Record<string, string>][] = [
    [`${PATH}?access_token=${jwt}`, headers],
    [`${PATH}?access_token=x`, { ...headers, ...bearer(jwt) }],
    [PATH, { ...headers, authorization: `DPoP ${jwt}` }],
    [PATH, { ...headers, ...basic('web', WEB.client_secret) }],
  ]
  for (const [path, more] of sent)
    expect([400, 401]).toContain((await server.request(path, { method: 'POST', headers: more, body })).status)
  await expectNothing()
})

// The last one: time passes for all of the file.
test('a key that the issuer has from now on is found, and one that it has taken away is none', async () => {
  const next = { ...corp, key: await createAssertionKey('next') }
  expect((await ask(server, await byCorp(), bySubject(corp.issuer, 'a'))).status).toBe(204)
  corp.publish(next.key.jwk)
  passTime(61_000)
  expect((await ask(server, await vouch(next, 'us', endpoint), bySubject(corp.issuer, 'a'))).status).toBe(204)
  expect((await ask(server, await byCorp(), bySubject(corp.issuer, 'a'))).status).toBe(401)
  vi.useRealTimers()
})
