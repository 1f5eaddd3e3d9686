/**
 * JWTs of trusted issuers as what is exchanged (RFC 8693 §3): for whom a rule names their issuer, once, and until it is trusted no more.
 * @needs latchkey-token-exchange
 */
import { decodeJwt } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import type { Answer } from '../../../support/device.ts'
import { createDpopKey, prove } from '../../../support/dpop.ts'
import {
  ACCESS_TOKEN,
  BACK,
  CELLAR,
  DESK,
  exchange,
  EXCHANGE_SEED,
  livesAt,
  MIRROR,
  NOBODY,
  ownToken,
  type Registered,
  ROBOT,
  SHELF,
} from '../../../support/exchange.ts'
import { startServer } from '../../../support/server.ts'
import { CAROL, createAssertionKey, inSeconds, said } from '../../../support/trusted-issuer.ts' // prettier-ignore

const JWT = 'urn:ietf:params:oauth:token-type:jwt'
const [key, stranger] = [await createAssertionKey('one'), await createAssertionKey('one')]
const [PARTNER, RIVAL, WORK] = [
  'https://partner.example',
  'https://rival.example',
  'https://work.example',
] as const
const issuer = (name: string, more: object) => ({ issuer: name, jwks: { keys: [key.jwk] }, scopes: ['read_shelf'], ...more }) // prettier-ignore
const rules: Readonly<Record<string, object[]>> = {
  desk: [{ subject_issuers: [PARTNER], resources: [SHELF, CELLAR], scopes: ['read_shelf', 'read_cellar'], actor_clients: ['robot'], actor_issuers: [WORK] }],
  back: [{ subject_issuers: [WORK], resources: [SHELF] }],
  mirror: [{ subject_issuers: [RIVAL], resources: [SHELF], delegation: false }],
} // prettier-ignore
const partner = issuer(PARTNER, { subject_claim: 'email', scopes: ['read_shelf', 'read_books'] })
const seed = {
  ...EXCHANGE_SEED,
  users: [...EXCHANGE_SEED.users, CAROL],
  clients: EXCHANGE_SEED.clients.map((one) => {
    const own = rules[one.client_id]
    return own === undefined ? one : { ...one, token_exchange: own }
  }),
  trusted_issuers: [
    partner,
    issuer(RIVAL, { subject_claim: 'email', clients: ['desk'] }),
    issuer(WORK, { subject: 'client', reusable: true }),
  ],
}
const server = await startServer({ OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false }, { seed })
const { audit, users, clients } = server.server.oauth
const { trustedIssuers, sessions } = kernelOf(server.server)
let alice = ''
beforeAll(async () => {
  alice = (await users.find('alice'))!.id
})

const speak = async (from: string = PARTNER, claims: object = {}, header: object = {}) =>
  said(key, from, server.url, claims, header)
const ask = async (by: Registered, jwt: string, more: Record<string, string> = {}, headers = {}): Promise<Answer> =>
  exchange(server, by, jwt, { subject_token_type: JWT, ...more }, headers) // prettier-ignore
const invalid = (reason: string) => ({
  status: 400,
  error: 'invalid_request',
  error_description: expect.stringContaining(reason) as string,
})
const claimsOf = ({ access_token: token }: Answer) => decodeJwt(String(token))
const lives = async ({ access_token: token }: Answer) => livesAt(server, token)

test('whom the issuer means here, as far as rule, client and issuer may, no longer than the JWT, and who acts', async () => {
  const got = await ask(DESK, await speak(PARTNER, { exp: inSeconds(50) }))
  expect(got).toMatchObject({ status: 200, issued_token_type: ACCESS_TOKEN, scope: 'read_shelf' })
  expect(claimsOf(got)).toMatchObject({ sub: alice, client_id: 'desk', aud: SHELF, act: { sub: 'desk' } })
  expect(claimsOf(got).exp).toBeLessThanOrEqual(inSeconds(50))
  expect(await lives(got)).toBe(true)
  expect(got).not.toHaveProperty('refresh_token')
})

test('it is good once, and stays good where too much was asked for', async () => {
  const jwt = await speak()
  for (const scope of ['read_cellar', 'read_books', 'openid'])
    expect(await ask(DESK, jwt, { scope })).toMatchObject({ status: 400, error: 'invalid_scope' })
  expect(await ask(DESK, jwt, { resource: server.url })).toMatchObject({ error: 'invalid_target' })
  expect(await ask(DESK, jwt)).toMatchObject({ status: 200 })
  const refusals: object[] = []
  audit.on('token.exchange_refused', ({ client, details }) => refusals.push({ client, ...details }))
  expect(await ask(DESK, jwt)).toMatchObject(invalid('used before'))
  expect(refusals).toEqual([{ client: 'desk', error: 'invalid_request' }])
  const many = await speak(WORK)
  expect([await ask(BACK, many), await ask(BACK, many)]).toMatchObject([{ status: 200 }, { status: 200 }])
  const parallel = await speak()
  const answers = await Promise.all(Array.from({ length: 10 }, async () => ask(DESK, parallel)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
})

test('it stays good where the request is refused for what it lacks itself, or for who acts', async () => {
  const jwt = await speak()
  await clients.update('desk', { dpop_bound_access_tokens: true })
  expect(await ask(DESK, jwt)).toMatchObject({ status: 400, error: 'invalid_dpop_proof' })
  await clients.update('desk', { dpop_bound_access_tokens: null })
  await trustedIssuers.save({ ...issuer(WORK, { subject: 'client' }), reusable: null })
  const actor = { actor_token: await speak(WORK), actor_token_type: JWT }
  expect(await ask(DESK, await speak(), actor)).toMatchObject({ status: 200 })
  expect(await ask(DESK, jwt, actor)).toMatchObject(invalid('used before'))
  await trustedIssuers.save({ ...issuer(WORK, { subject: 'client' }), reusable: true })
  expect(await ask(DESK, jwt)).toMatchObject({ status: 200 })
})

describe('every combination of client, subject, actor and audience that no rule names is refused', () => {
  const asking = [DESK, BACK, MIRROR, NOBODY, ROBOT]
  const actors = ['nobody', 'robot', 'back', WORK, PARTNER]
  const allowed = new Set([
    ...['nobody', 'robot', WORK].map((actor) => `desk ${PARTNER} ${actor} shelf`),
    // Its own token says who acts, unless a rule names others.
    ...['nobody', 'back'].map((actor) => `back ${WORK} ${actor} shelf`),
  ])
  const table = asking.flatMap((by) =>
    [PARTNER, RIVAL, WORK].flatMap((from) =>
      actors.flatMap((actor) => ['shelf', 'cellar', 'issuer'].map((target) => [by, from, actor, target] as const)),
    ),
  ) // prettier-ignore

  test(`${table.length} of them`, async () => {
    const tokens = { robot: await ownToken(server, ROBOT), back: await ownToken(server, BACK) }
    const targets: Record<string, string> = { shelf: SHELF, cellar: CELLAR, issuer: server.url }
    const wrong: unknown[] = []
    for (const [by, from, actor, target] of table) {
      const own = actor.startsWith('https:')
        ? { actor_token: await speak(actor), actor_token_type: JWT }
        : { actor_token: tokens[actor as 'robot' | 'back'], actor_token_type: ACCESS_TOKEN }
      const more = { audience: targets[target]!, ...(actor === 'nobody' ? {} : own) }
      const { status, error } = await ask(by, await speak(from), more)
      const row = [by.client_id, from, actor, target].join(' ')
      const isRight = status === (allowed.has(row) ? 200 : 400) && error !== 'server_error'
      if (!isRight) wrong.push([row, status, error])
    }
    expect(wrong).toEqual([])
  })
})

describe('a JWT is refused', () => {
  test.each([
    ['of an issuer that nobody trusts', { iss: 'https://evil.example' }, {}, 'iss is not trusted'],
    ['for somebody else', { aud: 'https://other.example' }, {}, 'aud is another'],
    ['that has expired', { exp: inSeconds(-60) }, {}, 'expired'],
    ['of nobody here', { email: 'nobody@example.com' }, {}, 'nobody here'],
    ['of an administrator', { email: CAROL.email }, {}, 'administrator'],
    ['whose address is not verified', { email_verified: false }, {}, 'not verified'],
    ['that says who acts', { act: { sub: 'x' } }, {}, 'its act'],
    ['whose may_act names another', { may_act: { sub: 'back' } }, {}, 'may_act'],
    ['whose may_act names one of another server', { may_act: { iss: PARTNER, sub: 'desk' } }, {}, 'may_act'],
    ['whose may_act has an iss that is none', { may_act: { iss: null, sub: 'desk' } }, {}, 'may_act'],
    ['whose may_act is nothing', { may_act: 7 }, {}, 'may_act'],
    ['that is bound to nothing', { cnf: null }, {}, 'bound to a key'],
    ['that is an ID-JAG', {}, { typ: 'oauth-id-jag+jwt' }, 'typ is another'],
    ['that is an access token', {}, { typ: 'at+jwt' }, 'typ is another'],
  ])('%s', async (_what, claims, header, reason) => {
    expect(await ask(DESK, await speak(PARTNER, claims, header))).toMatchObject(invalid(reason))
  })

  test('that somebody else signed, that is none, or of another type', async () => {
    expect(await ask(DESK, await said(stranger, PARTNER, server.url))).toMatchObject(invalid('signature'))
    for (const jwt of ['x', 'a.b.c', await ownToken(server, ROBOT)])
      expect(await ask(DESK, jwt)).toMatchObject({ status: 400, error: 'invalid_request' })
    expect(await exchange(server, DESK, await speak())).toMatchObject(invalid('not good here'))
  })

  test('who is not its client hears nothing of whom it means', async () => {
    const nobody = await speak(PARTNER, { email: 'nobody@example.com' })
    for (const by of [NOBODY, BACK]) expect(await ask(by, nobody)).toMatchObject(invalid('not good here'))
    expect(await ask(MIRROR, await speak(RIVAL))).toMatchObject(invalid('not trusted for this client'))
  })
})

test('one that is bound to a key is good with that key alone', async () => {
  const bound = await createDpopKey()
  const jwt = await speak(PARTNER, { cnf: { jkt: bound.thumbprint } })
  expect(await ask(DESK, jwt)).toMatchObject(invalid('bound to a key'))
  const proof = await prove(bound, { method: 'POST', url: `${server.url}/token` })
  const got = await ask(DESK, jwt, {}, { dpop: proof })
  expect(got).toMatchObject({ status: 200, token_type: 'DPoP' })
  expect(claimsOf(got)['cnf']).toEqual({ jkt: bound.thumbprint })
})

test('one about somebody, or who acts, from before everything of theirs ended is good for nothing', async () => {
  const { id } = await users.create({ username: 'erin', email: 'erin@example.com', email_verified: true })
  await users.revokeTokens({ id })
  const ended = Math.floor((await users.get(id)).endedAt! / 1000)
  const by = async (iat: number) => speak(PARTNER, { email: 'erin@example.com', iat })
  expect(await ask(DESK, await by(ended - 1))).toMatchObject(invalid('signed out here since'))
  expect(await ask(DESK, await by(ended))).toMatchObject({ status: 200 })
})

describe('what came of it ends', () => {
  const again = async (): Promise<void> => {
    await trustedIssuers.delete(PARTNER)
    await trustedIssuers.save(partner)
  }
  test.each([
    ['when the issuer is disabled', async () => trustedIssuers.save({ issuer: PARTNER, disabled: true }), again],
    ['when it is deleted, and does not come back with it', again, again],
    ['when the user is disabled', async () => users.disable('alice'), async () => users.enable('alice')],
  ])('%s', async (_when, end, mend) => {
    const got = await ask(DESK, await speak())
    expect(await lives(got)).toBe(true)
    await end()
    await expect.poll(async () => lives(got)).toBe(false)
    await mend()
    await expect.poll(async () => (await ask(DESK, await speak())).status).toBe(200)
    expect(await lives(got)).toBe(false)
  }) // prettier-ignore

  test('for a service with somebody who acts: nothing in the token tells more of them than its act', async () => {
    const rule = {
      subject_clients: ['robot'],
      actor_issuers: [PARTNER],
      resources: [SHELF],
      scopes: ['read_shelf'],
    }
    const redirect_uris = ['https://desk.example/cb']
    await clients.update('desk', { token_exchange: [rule], subject_type: 'pairwise', redirect_uris })
    const acting = { actor_token: await speak(), actor_token_type: JWT }
    const got = await exchange(server, DESK, await ownToken(server, ROBOT), acting)
    expect(got).toMatchObject({ status: 200 })
    const claims = claimsOf(got)
    expect(claims['act']).toEqual({ sub: expect.any(String) as string })
    expect(JSON.stringify(claims)).not.toContain(alice)
    expect(await lives(got)).toBe(true)
    await users.disable('alice')
    await expect.poll(async () => lives(got)).toBe(false)
    await users.enable('alice')
    await clients.update('desk', { token_exchange: rules['desk'], subject_type: null, redirect_uris: null })
  })

  test('when who acted may sign in no more, and when everything of theirs ended', async () => {
    await clients.update('desk', {
      token_exchange: [{ subject_issuers: [PARTNER], actor_issuers: [PARTNER], resources: [SHELF] }],
    })
    const bob = (await users.find('bob'))!
    await users.update('bob', { email: 'bob@example.com', email_verified: true })
    const act = async () => {
      const exp = inSeconds(3000)
      const actor = await speak(PARTNER, { email: 'bob@example.com', exp })
      const got = await ask(DESK, await speak(PARTNER, { exp }), {
        actor_token: actor,
        actor_token_type: JWT,
      })
      expect(claimsOf(got)['act']).toEqual({ sub: bob.id })
      expect(await lives(got)).toBe(true)
      return got
    }
    const before = await act()
    await users.revokeTokens({ id: bob.id })
    await expect.poll(async () => lives(before)).toBe(false)
    const elsewhere = await act()
    await sessions.endAll(bob.id)
    await expect.poll(async () => lives(elsewhere)).toBe(false)
    const after = await act()
    expect([await lives(before), await lives(elsewhere)]).toEqual([false, false])
    await users.disable('bob')
    await expect.poll(async () => lives(after)).toBe(false)
  })
})
