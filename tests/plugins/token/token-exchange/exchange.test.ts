/**
 * Token exchange (RFC 8693): what its policy allows and nothing else, for whom, for how long, and until what.
 * @needs latchkey-token-exchange
 */
import { decodeJwt } from 'jose'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Bag } from '../../../../src/protocol/bag.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { Type } from '../../../../src/protocol/schema.ts'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { createDpopKey, prove } from '../../../support/dpop.ts'
import {
  ACCESS_TOKEN,
  BACK,
  CELLAR,
  credentials,
  DESK,
  exchange,
  EXCHANGE_SEED,
  GRANT,
  ID_TOKEN,
  livesAt,
  MIRROR,
  NOBODY,
  OTHER,
  ownToken,
  REFRESH_TOKEN,
  type Registered,
  ROBOT,
  SHELF,
} from '../../../support/exchange.ts'
import { answer } from '../../../support/device.ts'
import { startServer } from '../../../support/server.ts'
import {
  answerOf,
  authorizationUrl,
  BOB,
  exchange as redeem,
  getTokens,
  goThrough,
  WEB,
  type Tokens,
} from '../../../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../../../support/user-agent.ts'
import { exchangeAs } from '../../../support/code-flow.ts'
import { toClient } from '../../../support/service.ts' // prettier-ignore

/** Whether a policy grants anything of users. */
let isGranted = true
const server = await startServer(
  { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false },
  {
    seed: EXCHANGE_SEED,
    extend({ oauth }) {
      oauth.add('policy', async ({ subject }) => {
        if (subject !== undefined && !isGranted) throw new OAuthError('invalid_grant', 'the user has left')
      })
      oauth.add('parameter', {
        name: 'may_act',
        schema: Type.String(),
        kept: true,
        parse: (raw) => (raw === undefined ? undefined : (JSON.parse(String(raw)) as unknown)),
      })
      oauth.extend('access_token', ['may_act'], async ({ parameters = {} }): Promise<Bag> => {
        const { may_act } = parameters as { may_act?: unknown }
        return may_act === undefined ? {} : { may_act }
      })
    },
  },
)
const { clients, audit, users } = server.server.oauth
const invalid = (error: string) => ({ status: 400, error })
const claimsOf = ({ access_token }: Readonly<Record<string, unknown>>) => decodeJwt(String(access_token))

const signIn = async (agent?: UserAgent): Promise<Tokens> =>
  getTokens(server, { scope: 'openid read_books' }, agent)
async function signInTo(by: typeof OTHER, agent: UserAgent = createUserAgent(server.url)): Promise<Tokens> {
  const url = authorizationUrl(server, { client_id: by.client_id, scope: 'openid read_books' })
  const code = answerOf(await goThrough(agent, await agent.get(url))).get('code')!
  return (await exchangeAs(server, toClient(by), code)).tokens
}
/** Of the other app. */
const signInElsewhere = async (agent?: UserAgent): Promise<string> =>
  (await signInTo(OTHER, agent)).access_token

const isActive = async (token: unknown): Promise<boolean> => livesAt(server, token)

const tokens = await signIn()
const elsewhere = await signInElsewhere()
const robots = await ownToken(server, ROBOT)
const desks = await ownToken(server, DESK)

test('the user’s token gives the desk one of its own, for the shelf, that says who acts', async () => {
  const got = await exchange(server, DESK, tokens.access_token)
  expect(got).toMatchObject({ status: 200, issued_token_type: ACCESS_TOKEN, token_type: 'bearer', scope: 'read_shelf' })
  expect(got).not.toHaveProperty('refresh_token')
  expect(got).not.toHaveProperty('id_token')
  const { sub, exp } = decodeJwt(tokens.access_token)
  const claims = claimsOf(got)
  expect(claims).toMatchObject({ sub, client_id: 'desk', aud: SHELF, act: { sub: 'desk' } })
  expect(claims.exp).toBeLessThanOrEqual(exp!)
  expect(await isActive(got['access_token'])).toBe(true)
}) // prettier-ignore

test('impersonation, where it is registered, says nobody; but who acted before stays in the line', async () => {
  expect(claimsOf(await exchange(server, MIRROR, tokens.access_token))).not.toHaveProperty('act')
  const acted = await exchange(server, DESK, tokens.access_token)
  expect(claimsOf(await exchange(server, MIRROR, String(acted['access_token'])))['act']).toEqual({
    sub: 'desk',
  })
})

/** An app that may be vouched for at another server, by what `subject_clients` got. */
const vouchedApp = (client_id: string, subject_clients: string[]) => ({
  ...WEB,
  client_id,
  grant_types: ['authorization_code', 'refresh_token', GRANT],
  token_exchange: [{ subject_clients, resources: ['https://api.other.example'], audiences: ['https://other.example'] }],
}) // prettier-ignore
const JAG = { subject_token_type: ID_TOKEN, requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag', audience: 'https://other.example' } // prettier-ignore

test('what policies do not grant is not vouched for at other servers either', async () => {
  const by = vouchedApp('vouched', ['vouched'])
  await clients.create(by)
  // An ID-JAG is given to the app that the ID token is for.
  const { id_token } = await signInTo(by)
  const vouch = async () => exchange(server, by, id_token, JAG)
  expect(await vouch()).toMatchObject({ status: 200, token_type: 'N_A' })
  onTestFinished(() => void (isGranted = true))
  isGranted = false
  expect(await vouch()).toMatchObject(invalid('invalid_grant'))
})

test('nobody is vouched for with an ID token that another app got, whatever a rule names', async () => {
  const by = vouchedApp('borrower', ['borrower', 'web'])
  await clients.create(by)
  expect(await exchange(server, by, tokens.id_token, JAG)).toMatchObject(invalid('invalid_request'))
  expect(await exchange(server, by, (await signInTo(by)).id_token, JAG)).toMatchObject({ status: 200 })
})

test('a rule that vouches by the tokens of others alone is refused when it is registered', async () => {
  const said = 'token_exchange must name the client itself in subject_clients where a rule has audiences'
  await expect(clients.create(vouchedApp('taker', ['web']))).rejects.toThrow(said)
  // What would be refused is told before, and nothing else.
  await expect(clients.check(vouchedApp('taker', ['web']))).rejects.toThrow(said)
  expect(await clients.check(vouchedApp('taker', ['taker']))).toEqual([])
  await expect(
    clients.update('desk', { token_exchange: vouchedApp('desk', ['web']).token_exchange }),
  ).rejects.toThrow(said)
})

describe('by which sub an ID-JAG names somebody', () => {
  const pairwise = { subject_type: 'pairwise' }
  /** As its ID tokens at this server do. */
  const named = async (by: typeof OTHER, idToken: string) =>
    claimsOf(await exchange(server, by, idToken, JAG)).sub

  test('by the one that the other server knows them by, as the client that it is here', async () => {
    const chat = { ...WEB, ...pairwise, client_id: 'chat', redirect_uri: 'https://chat.example/cb' }
    await clients.create(chat)
    const { id: alice } = (await users.find('alice'))!
    for (const [client_id, more] of [['mute', pairwise], ['overt', {}]] as const) {
      const by = { ...vouchedApp(client_id, [client_id]), ...more }
      const token_exchange = [{ ...by.token_exchange[0]!, audience_client: 'chat' }]
      await clients.create({ ...by, token_exchange })
      const { id_token } = await signInTo(by)
      const other = server.server.oauth.subjectOf(alice, (await server.server.oauth.findClient('chat'))!)
      expect(other).not.toBe(decodeJwt(id_token).sub)
      expect(await named(by, id_token)).toBe(other)
    }
    await clients.delete('chat')
    const { id_token } = await signInTo(vouchedApp('overt', ['overt']))
    await expect.poll(async () => exchange(server, vouchedApp('overt', ['overt']), id_token, JAG)).toMatchObject({
      ...invalid('invalid_target'),
      error_description: 'the client that this audience is here is not registered',
    })
  }) // prettier-ignore

  test('without that client by the public one, and by none where the app knows a pairwise one', async () => {
    const by = vouchedApp('plain', ['plain'])
    await clients.create(by)
    const { id_token } = await signInTo(by)
    expect(await named(by, id_token)).toBe((await users.find('alice'))!.id)
    await expect(clients.update('plain', pairwise)).rejects.toThrow(
      'token_exchange must name an audience_client where a rule has audiences and the subject_type is pairwise',
    )
    // Registered before that was asked for.
    const { database } = server
    await database.query(`update clients set metadata = metadata || '{"subject_type":"pairwise"}' where client_id = 'plain'`)
    await database.query(`insert into changes (id, kind, key) values (gen_random_uuid(), 'client', 'plain')`)
    const known = async () => (await signInTo(by)).id_token
    await expect.poll(async () => decodeJwt(await known()).sub).not.toBe(decodeJwt(id_token).sub)
    expect(await exchange(server, by, await known(), JAG)).toMatchObject({
      ...invalid('invalid_target'),
      error_description: expect.stringContaining('audience_client') as unknown,
    })
  }) // prettier-ignore
})

describe('every combination outside the policy is refused', () => {
  const subjects = { web: tokens.access_token, other: elsewhere, robot: robots }
  const actors = { nobody: undefined, desk: desks, robot: robots }
  const allowed = new Set(['web nobody shelf', 'web desk shelf', 'other nobody cellar', 'other robot cellar'])
  const combinations = Object.keys(subjects).flatMap((subject) =>
    Object.keys(actors).flatMap((actor) =>
      ['shelf', 'cellar', 'issuer'].map((resource) => [subject, actor, resource] as const),
    ),
  )

  test.each(combinations)(
    'desk: the token of %s, acting %s, for the %s',
    async (subject, actor, resource) => {
      const identifiers: Record<string, string> = { shelf: SHELF, cellar: CELLAR, issuer: server.url }
      const acting = actors[actor as keyof typeof actors]
      const more = acting === undefined ? {} : { actor_token: acting, actor_token_type: ACCESS_TOKEN }
      for (const name of ['resource', 'audience']) {
        const form = { ...more, [name]: identifiers[resource]! }
        const got = await exchange(server, DESK, subjects[subject as keyof typeof subjects], form)
        expect(got.status === 200).toBe(allowed.has(`${subject} ${actor} ${resource}`))
      }
    },
  )

  test.each([NOBODY, ROBOT, BACK])('$client_id may not have the token of web or other at all', async (by) => {
    for (const subject of [tokens.access_token, elsewhere])
      expect(await exchange(server, by, subject)).toMatchObject(invalid('invalid_request'))
  })

  test('who is not registered for the grant', async () => {
    expect(await exchange(server, WEB, tokens.access_token)).toMatchObject(invalid('unauthorized_client'))
    await clients.create({ client_id: 'open', token_endpoint_auth_method: 'none', grant_types: [GRANT] })
    const form = { client_id: 'open', grant_type: GRANT, subject_token: tokens.access_token, subject_token_type: ACCESS_TOKEN }
    expect(await answer(server.post('/token', form))).toMatchObject(invalid('unauthorized_client'))
  }) // prettier-ignore

  test('scopes: those of the rule and of the client, of that resource, and no others', async () => {
    for (const scope of ['read_cellar', 'read_books', 'openid', 'read_shelf read_cellar', 'read_shelf read_books'])
      expect([scope, await exchange(server, DESK, tokens.access_token, { scope })]).toMatchObject([scope, invalid('invalid_scope')])
    // Without scopes in the rule, those that the token has.
    expect(await exchange(server, BACK, desks, { scope: 'read_shelf' })).toMatchObject({ status: 200 })
    await clients.update('back', { scope: [] })
    expect(await exchange(server, BACK, desks)).toMatchObject(invalid('invalid_scope'))
    await clients.update('back', { scope: ['read_shelf'] })
  }) // prettier-ignore

  test('a resource by its alias is that resource', async () => {
    expect(claimsOf(await exchange(server, DESK, tokens.access_token, { resource: 'urn:shelf/' })).aud).toBe(
      SHELF,
    )
    const unknown = { resource: 'https://nowhere.example' }
    expect(await exchange(server, DESK, tokens.access_token, unknown)).toMatchObject(
      invalid('invalid_target'),
    )
  })

  test('a rule that was taken away allows nothing from then on', async () => {
    await clients.update('desk', { token_exchange: null })
    expect(await exchange(server, DESK, tokens.access_token)).toMatchObject(invalid('invalid_request'))
    await clients.update('desk', { token_exchange: DESK.token_exchange })
    expect(await exchange(server, DESK, tokens.access_token)).toMatchObject({ status: 200 })
  })
})

describe('what is no good token is refused', () => {
  test.each([
    ['no token', () => 'nothing'],
    ['one that was spoilt', () => `${tokens.access_token.slice(0, -4)}AAAA`],
    ['a refresh token as an access token', () => tokens.refresh_token],
    ['an ID token as an access token', () => tokens.id_token],
  ])('%s', async (_what, token) => {
    expect(await exchange(server, DESK, token())).toMatchObject(invalid('invalid_request'))
  })

  test('of another server, unsigned, changed, expired', async () => {
    const foreign = await startServer({}, { seed: EXCHANGE_SEED })
    const [head, body, signature] = tokens.access_token.split('.')
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = decodeJwt(tokens.access_token)
    await server.server.oauth.resources.saveResource({ resource: CELLAR, access_token_lifetime: 0 })
    const expired = await ownToken(server, DESK)
    await server.server.oauth.resources.saveResource({ resource: CELLAR, access_token_lifetime: null })
    const bad = [
      [DESK, (await getTokens(foreign, { scope: 'openid read_books' })).access_token],
      [DESK, `${encode({ alg: 'none', typ: 'at+jwt' })}.${body}.`],
      [DESK, `${head}.${encode({ ...claims, exp: claims.exp! + 60 })}.${signature}`],
      [BACK, expired],
    ] as const
    for (const [by, token] of bad) expect(await exchange(server, by, token)).toMatchObject(invalid('invalid_request'))
  }) // prettier-ignore

  test('one whose may_act names another actor', async () => {
    const named = async (may_act: object): Promise<string> =>
      (await getTokens(server, { scope: 'openid read_books', may_act: JSON.stringify(may_act) }, createUserAgent(server.url))).access_token
    const [desk, back] = [await named({ sub: 'desk' }), await named({ sub: 'back' })]
    expect(await exchange(server, DESK, desk)).toMatchObject({ status: 200 })
    expect(await exchange(server, MIRROR, desk)).toMatchObject(invalid('invalid_request'))
    expect(await exchange(server, DESK, back)).toMatchObject(invalid('invalid_request'))
    expect(await exchange(server, DESK, await named({ sub: 'desk', client_id: 'back' }))).toMatchObject(invalid('invalid_request'))
    expect(await exchange(server, DESK, await named({}))).toMatchObject(invalid('invalid_request'))
    expect(await exchange(server, DESK, await named({ iss: 'https://other.example', sub: 'desk' }))).toMatchObject(invalid('invalid_request'))
    expect(await exchange(server, DESK, await named({ iss: server.url, sub: 'desk' }))).toMatchObject({ status: 200 })
  }) // prettier-ignore

  test('types that are not known, and an actor by halves', async () => {
    const types = ['urn:ietf:params:oauth:token-type:jwt', 'urn:ietf:params:oauth:token-type:saml2', 'constructor', '__proto__']
    for (const type of types)
      expect(await exchange(server, DESK, tokens.access_token, { subject_token_type: type })).toMatchObject(invalid('invalid_request'))
    for (const requested_token_type of [REFRESH_TOKEN, ID_TOKEN])
      expect(await exchange(server, DESK, tokens.access_token, { requested_token_type })).toMatchObject(invalid('invalid_request'))
    for (const half of [{ actor_token: desks }, { actor_token_type: ACCESS_TOKEN }])
      expect(await exchange(server, DESK, tokens.access_token, half)).toMatchObject(invalid('invalid_request'))
    const bad = { actor_token: 'nothing', actor_token_type: ACCESS_TOKEN }
    expect(await exchange(server, DESK, tokens.access_token, bad)).toMatchObject(invalid('invalid_request'))
  }) // prettier-ignore

  test('a line of exchanges that is too long, with actors or without', async () => {
    for (const by of [BACK, MIRROR]) {
      const first = await exchange(server, by === BACK ? DESK : MIRROR, tokens.access_token)
      let token = String(first['access_token'])
      const statuses: number[] = []
      for (let times = 0; times < 5; times++) {
        const got = await exchange(server, by, token)
        statuses.push(got.status)
        if (got.status === 200) token = String(got['access_token'])
      }
      expect(statuses).toEqual([200, 200, 200, 400, 400])
    }
  })
})

describe('it dies with what it was exchanged for', () => {
  const endings: Readonly<Record<string, (had: Tokens, agent: UserAgent) => Promise<unknown>>> = {
    'the access token is revoked': async ({ access_token: token }) =>
      server.post('/revoke', { token }, credentials(WEB)),
    'the refresh token is revoked': async ({ refresh_token: token }) =>
      server.post('/revoke', { token }, credentials(WEB)),
    'its user signs out': async ({ id_token }, agent) =>
      agent.get(`${server.url}/end-session?id_token_hint=${id_token}`),
    'its user takes the access back': async () =>
      kernelOf(server.server).consents.withdraw((await users.find('alice'))!.id, 'web'),
    'its code comes once more': async () => undefined,
  }

  test.each(Object.entries(endings))('when %s', async (name, end) => {
    const agent = createUserAgent(server.url)
    const url = authorizationUrl(server, { scope: 'openid read_books' })
    const code = answerOf(await goThrough(agent, await agent.get(url))).get('code')!
    const had = (await (await redeem(server, code)).json()) as Tokens
    const first = await exchange(server, DESK, had.access_token)
    const second = await exchange(server, BACK, String(first['access_token']))
    expect([await isActive(first['access_token']), await isActive(second['access_token'])]).toEqual([true, true])
    await (name.includes('code') ? redeem(server, code) : end(had, agent))
    await expect.poll(async () => Promise.all([first, second].map(async (one) => isActive(one['access_token'])))).toEqual([false, false])
    expect(await exchange(server, DESK, had.access_token)).toMatchObject(invalid('invalid_request'))
    expect(await exchange(server, BACK, String(first['access_token']))).toMatchObject(invalid('invalid_request'))
  }) // prettier-ignore

  test('and outlives the sign-out as that does: by offline_access, and what came of it in turn', async () => {
    for (const [scope, outlives] of [['openid read_books offline_access', true], ['openid read_books', false]] as const) {
      const agent = createUserAgent(server.url)
      const had = await getTokens(server, { scope }, agent)
      const first = await exchange(server, DESK, had.access_token)
      const second = await exchange(server, BACK, String(first['access_token']))
      const byIdToken = await exchange(server, DESK, had.id_token, { subject_token_type: ID_TOKEN })
      await agent.get(`${server.url}/end-session?id_token_hint=${had.id_token}`)
      const all = [first, second, byIdToken].map(async (one) => isActive(one['access_token']))
      expect(await Promise.all(all)).toEqual([outlives, outlives, false])
      await server.post('/revoke', { token: had.refresh_token }, credentials(WEB))
      for (const one of [first, second]) await expect.poll(async () => isActive(one['access_token'])).toBe(false)
    }
  }) // prettier-ignore

  test('when its client is deleted, or its user disabled', async () => {
    const got = await exchange(server, DESK, await signInElsewhere(), { resource: CELLAR })
    expect(await isActive(got['access_token'])).toBe(true)
    await clients.delete('other')
    await expect.poll(async () => isActive(got['access_token'])).toBe(false)
    await clients.create(OTHER)
    const agent = createUserAgent(server.url)
    const bobs = await getTokens(server, { scope: 'openid read_books' }, agent, BOB)
    const his = await exchange(server, DESK, bobs.access_token)
    await users.disable('bob')
    await expect.poll(async () => isActive(his['access_token'])).toBe(false)
    expect(await exchange(server, DESK, bobs.access_token)).toMatchObject(invalid('invalid_request'))
  })

  test('no later than it expires', async () => {
    const { resources } = server.server.oauth
    await resources.saveResource({ resource: SHELF, access_token_lifetime: 86_400 })
    const { access_token: token } = await signIn(createUserAgent(server.url))
    const got = await exchange(server, DESK, token)
    expect(claimsOf(got).exp).toBeLessThanOrEqual(decodeJwt(token).exp!)
    expect(got['expires_in']).toBeLessThanOrEqual(3600)
    await resources.saveResource({ resource: SHELF, access_token_lifetime: null })
  })
})

describe('other kinds of tokens', () => {
  const own = [{ subject_clients: ['web'], resources: [SHELF], scopes: ['read_shelf'] }]
  const asWeb: Registered = WEB
  const idToken = { subject_token_type: ID_TOKEN }

  test('an ID token, for as long as its sign-in and what its app has of it last', async () => {
    const agent = createUserAgent(server.url)
    const had = await signIn(agent)
    const got = await exchange(server, DESK, had.id_token, idToken)
    expect(claimsOf(got)).toMatchObject({
      sub: decodeJwt(had.id_token).sub,
      act: { sub: 'desk' },
      aud: SHELF,
    })
    expect(claimsOf(got).exp).toBeLessThanOrEqual(decodeJwt(had.id_token).exp!)
    await agent.get(`${server.url}/end-session?id_token_hint=${had.id_token}`)
    await expect.poll(async () => isActive(got['access_token'])).toBe(false)
    expect(await exchange(server, DESK, had.id_token, idToken)).toMatchObject(invalid('invalid_request'))
    const revoked = await signIn(createUserAgent(server.url))
    await server.post('/revoke', { token: revoked.refresh_token }, credentials(WEB))
    expect(await exchange(server, DESK, revoked.id_token, idToken)).toMatchObject(invalid('invalid_request'))
    expect(await exchange(server, NOBODY, had.id_token, idToken)).toMatchObject(invalid('invalid_request'))
  })

  test('an ID token stands for what its app got by signing in, and for nothing that the app exchanged since', async () => {
    const exchanging = { ...WEB, grant_types: ['authorization_code', 'refresh_token', GRANT], scope: ['read_books', 'read_shelf'] }
    await clients.update('web', { ...exchanging, token_exchange: [{ ...own[0], subject_clients: ['other'] }] })
    const shelver = { ...ROBOT, client_id: 'shelver', grant_types: [GRANT], scope: ['read_books', 'read_shelf'] }
    await clients.create({ ...shelver, token_exchange: [{ subject_clients: ['web'], resources: [server.url, SHELF] }] })
    const agent = createUserAgent(server.url)
    const had = await signIn(agent)
    const theirs = await signInElsewhere(agent)
    expect(await exchange(server, asWeb, theirs)).toMatchObject({ status: 200, scope: 'read_shelf' })
    expect(await exchange(server, shelver, had.id_token, idToken)).toMatchObject({ status: 200, scope: 'read_books' })
    // When its own is gone nothing of it is left, whatever else the app has.
    await server.post('/revoke', { token: had.refresh_token }, credentials(WEB))
    expect(await exchange(server, shelver, had.id_token, idToken)).toMatchObject(invalid('invalid_request'))
    await clients.update('web', { grant_types: null, scope: ['read_books'], token_exchange: null })
    await clients.delete('shelver')
  }) // prettier-ignore

  test('a refresh token, by the client that it was given to alone; it stays good', async () => {
    const had = await signIn(createUserAgent(server.url))
    const type = { subject_token_type: REFRESH_TOKEN }
    expect(await exchange(server, DESK, had.refresh_token, type)).toMatchObject(invalid('invalid_request'))
    await clients.update('web', {
      grant_types: ['authorization_code', 'refresh_token', GRANT],
      scope: ['read_books', 'read_shelf'],
      token_exchange: own,
    })
    const got = await exchange(server, asWeb, had.refresh_token, type)
    expect(claimsOf(got)).toMatchObject({ client_id: 'web', aud: SHELF, act: { sub: 'web' } })
    const refreshed = await answer(server.post('/token', { grant_type: 'refresh_token', refresh_token: had.refresh_token }, credentials(WEB))) // prettier-ignore
    expect(refreshed).toMatchObject({ status: 200 })
    // The one before is spent now, and proves nothing any more.
    expect(await exchange(server, asWeb, had.refresh_token, type)).toMatchObject(invalid('invalid_request'))
    await server.post('/revoke', { token: String(refreshed['refresh_token']) }, credentials(WEB))
    await expect.poll(async () => isActive(got['access_token'])).toBe(false)
    await clients.update('web', { grant_types: null, scope: ['read_books'], token_exchange: null })
  })

  test('what a service got for itself is exchanged for that service, of which no user is made', async () => {
    const got = await exchange(server, BACK, desks)
    expect(claimsOf(got)).toMatchObject({ sub: 'desk', client_id: 'back', act: { sub: 'back' } })
    await server.post('/revoke', { token: desks }, credentials(DESK))
    await expect.poll(async () => isActive(got['access_token'])).toBe(false)
  })
})

describe('keys', () => {
  test('a token that is bound to one gives nothing to who does not show it, and one bound to it else', async () => {
    const [key, other] = [await createDpopKey(), await createDpopKey()]
    const proof = async (by = key) => ({
      dpop: await prove(by, { method: 'POST', url: `${server.url}/token` }),
    })
    const form = { grant_type: 'client_credentials' }
    const bound = await answer(server.post('/token', form, { ...credentials(DESK), ...(await proof()) }))
    const token = String(bound['access_token'])
    expect(await exchange(server, BACK, token)).toMatchObject(invalid('invalid_request'))
    expect(await exchange(server, BACK, token, {}, await proof(other))).toMatchObject(
      invalid('invalid_request'),
    )
    const got = await exchange(server, BACK, token, {}, await proof())
    expect(got).toMatchObject({ status: 200, token_type: 'DPoP' })
    expect(claimsOf(got)['cnf']).toEqual({ jkt: key.thumbprint })
    const acting = { actor_token: token, actor_token_type: ACCESS_TOKEN }
    const { access_token: subject } = await signIn(createUserAgent(server.url))
    expect(await exchange(server, DESK, subject, acting)).toMatchObject(invalid('invalid_request'))
    expect(await exchange(server, DESK, subject, acting, await proof())).toMatchObject({ status: 200 })
  })
})

test('what is exchanged and refused is in the audit log, without a token', async () => {
  const { access_token: token } = await signIn(createUserAgent(server.url))
  const got = await exchange(server, MIRROR, token)
  await exchange(server, NOBODY, token)
  const of = { grant_type: GRANT, of: 'web' }
  const ofMirror = async () =>
    (await audit.list({ type: 'token.issued', client: 'mirror' })).events.map(({ details }) => details)
  await expect.poll(ofMirror).toContainEqual(expect.objectContaining(of))
  const refusals = async () => (await audit.list({ type: 'token.exchange_refused' })).events
  await expect.poll(refusals).toContainEqual(expect.objectContaining({ client: 'nobody', details: { error: 'invalid_request' } }))
  for (const secret of [got['access_token'], token]) expect(server.output()).not.toContain(String(secret))
}) // prettier-ignore

test('what fails here refuses nothing', async () => {
  const { access_token: token } = await signIn(createUserAgent(server.url))
  const refusals: object[] = []
  audit.on('token.exchange_refused', ({ details }) => refusals.push(details))
  vi.spyOn(server.server.oauth, 'verify').mockRejectedValueOnce(new OAuthError('temporarily_unavailable', 'try again'))
  expect(await exchange(server, MIRROR, token)).toMatchObject({ status: 503, error: 'temporarily_unavailable' })
  expect(await exchange(server, NOBODY, token)).toMatchObject({ status: 400 })
  expect(refusals).toEqual([{ error: 'invalid_request' }])
}) // prettier-ignore

describe('a policy', () => {
  test.each([
    ['not a list', {}],
    ['without clients', [{ resources: [SHELF] }]],
    ['without resources', [{ subject_clients: ['web'] }]],
    ['of nobody', [{ subject_clients: [], resources: [SHELF] }]],
    ['with a member that is none', [{ subject_clients: ['web'], resources: [SHELF], subjects: ['web'] }]],
    ['with a text for a list', [{ subject_clients: 'web', resources: [SHELF] }]],
  ])('%s is refused', async (_what, token_exchange) => {
    const wrong = clients.create({ client_id: 'wrong', token_exchange })
    await expect(wrong).rejects.toThrow('token_exchange')
    expect(await clients.find('wrong')).toBeNull()
  })

  test('no app gives itself one as it registers itself', async () => {
    const open = await startServer({ OIDC_REGISTRATION: 'open' })
    const body = JSON.stringify({
      redirect_uris: ['https://app.example/cb'],
      token_exchange: DESK.token_exchange,
    })
    const headers = { 'content-type': 'application/json' }
    const made = await answer(open.request('/register', { method: 'POST', body, headers }))
    const client = await open.server.oauth.clients.find(String(made['client_id']))
    expect(client?.['token_exchange']).toBeUndefined()
  })
})

test('left out, nothing advertises or serves it', async () => {
  const other = await startServer(
    {},
    { build: { without: ['latchkey-token-exchange'] }, seed: EXCHANGE_SEED },
  )
  const metadata = await answer(other.get('/.well-known/openid-configuration'))
  expect(metadata['grant_types_supported']).not.toContain(GRANT)
  expect(await exchange(other, DESK, 'a')).toMatchObject(invalid('unsupported_grant_type'))
  const here = await answer(server.get('/.well-known/openid-configuration'))
  expect(here['grant_types_supported']).toContain(GRANT)
})
