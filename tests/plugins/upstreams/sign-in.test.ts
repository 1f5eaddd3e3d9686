/**
 * Signing in by an upstream, which is a second Latchkey: from an app, to the account, once more, and where it does not work.
 * @needs latchkey-upstreams
 */
import { describe, expect, test } from 'vitest'
import { startServer } from '../../support/server.ts'
import { ALICE, answerOf, authorizationUrl, BOB, exchange, goThrough } from '../../support/sign-in.ts'
import {
  allow,
  answerAt,
  answerFrom,
  signInBy,
  startBelow,
  startUpstream,
  traveller,
} from '../../support/upstreams.ts'
import { createUserAgent, findForm, type Page } from '../../support/user-agent.ts'

const CARLA = { ...ALICE, username: 'carla', email: 'carla@corp.example', name: 'Carla', phone_number: '+1' }
const DAVE = { ...BOB, username: 'dave', email: 'dave@elsewhere.example', email_verified: true }
const ERIN = { ...BOB, username: 'erin', email: 'erin@corp.example' }
const TRUSTED = { domains: ['corp.example'], trust_email: true }
const { server, upstreams } = await startBelow(async (url) => [
  await startUpstream('corp', url, [ALICE, CARLA, DAVE, ERIN], TRUSTED),
])
const [corp] = upstreams as [(typeof upstreams)[number]]
const { users, audit } = server.server.oauth
const errorOn = ({ body }: Page): string | undefined =>
  /id="upstreams-error"[^>]*>(.*?)<\/p>/.exec(body)?.[1]?.replaceAll(/<\/?bdi>/g, '')

describe('from an app', () => {
  test('a new person gets an account, and the app its answer; the next time the same', async () => {
    const who = traveller(server, corp)
    const consent = await signInBy(server, corp, CARLA, who, { scope: 'openid profile email', nonce: 'n' })
    const answer = answerOf(await allow(who.here, consent))
    expect(answer.get('state')).toBe('a state')
    const tokens = (await (await exchange(server, answer.get('code')!)).json()) as { id_token: string }
    const claims = JSON.parse(Buffer.from(tokens.id_token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>
    const user = (await users.find('carla'))!
    expect(claims).toMatchObject({
      sub: user.id, acr: '1', nonce: 'n', name: 'Carla', email: 'carla@corp.example', email_verified: true,
    })
    expect(claims['amr'] ?? []).toEqual([])
    expect(await users.waysIn(user.id)).toEqual(['upstream-link'])
    const again = traveller(server, corp)
    answerOf(await allow(again.here, await signInBy(server, corp, CARLA, again)))
    expect((await users.search('carla')).found).toHaveLength(1)
    const [linked] = (await audit.list({ type: 'user.upstream_linked' })).events
    expect(linked).toMatchObject({ user: user.id, details: { upstream: 'corp', issuer: corp.issuer } })
  }) // prettier-ignore

  test('what is asked after the way back is at an address that can be loaded again', async () => {
    const who = traveller(server, corp)
    const consent = await signInBy(server, corp, CARLA, who, { prompt: 'consent' })
    expect(consent.url).not.toContain('/callback')
    answerOf(await allow(who.here, await who.here.get(consent.url)))
  })

  test('the request that is sent there is a code flow with PKCE, state and nonce, each of 256 bits', async () => {
    const agent = createUserAgent(server.url)
    const left = await agent.submit(await agent.get(authorizationUrl(server)), 'upstreams', {
      upstream: 'corp',
    })
    const asked = Object.fromEntries(new URL(left.headers.get('location')!).searchParams)
    expect([left.status, asked]).toEqual([
      303,
      {
        client_id: 'us-corp',
        response_type: 'code',
        redirect_uri: `${server.url}/upstream/corp/callback`,
        scope: 'openid profile email',
        code_challenge_method: 'S256',
        code_challenge: expect.stringMatching(/^[\w-]{43}$/) as string,
        state: expect.stringMatching(/^[\w-]{43}$/) as string,
        nonce: expect.stringMatching(/^[\w-]{43}$/) as string,
      },
    ])
    const rows = JSON.stringify(await server.database.query('select * from artifacts'))
    for (const secret of [asked['state']!, asked['nonce']!]) expect(rows).not.toContain(secret)
  })

  test('prompt, max_age and an address in login_hint are asked of the upstream', async () => {
    const agent = createUserAgent(server.url)
    const url = authorizationUrl(server, { prompt: 'login', max_age: '60', login_hint: CARLA.email })
    const left = await agent.submit(await agent.get(url), 'upstreams', { upstream: 'corp' })
    const { searchParams } = new URL(left.headers.get('location')!)
    expect(['prompt', 'max_age', 'login_hint'].map((name) => searchParams.get(name))).toEqual([
      'login',
      '60',
      CARLA.email,
    ])
  })
})

test('to the account: the page that asked is what comes next', async () => {
  const who = traveller(server, corp)
  const page = await who.here.get(`${server.url}/account/profile`)
  const back = await who.here.get(await answerFrom(who, page, 'corp', CARLA))
  expect([new URL(back.url).pathname, back.status]).toEqual(['/account/profile', 200])
  expect(back.body).toContain('<bdi>carla</bdi>')
})

test('who has the same verified address is linked, and is told nothing new', async () => {
  await users.create({ username: 'carl', email: 'CARL@corp.example', email_verified: true })
  await corp.server.server.oauth.users.create({
    username: 'c',
    password: ALICE.password,
    email: 'carl@corp.example',
    email_verified: true,
  })
  const who = traveller(server, corp)
  answerOf(await allow(who.here, await signInBy(server, corp, { ...ALICE, username: 'c' }, who)))
  expect([(await users.find('c')), await users.waysIn((await users.find('carl'))!.id)]).toEqual([null, ['upstream-link']])
}) // prettier-ignore

describe('nobody gets in', () => {
  test.each([
    ['whose address is of another domain', DAVE, 'not linked with an account here'],
    ['whose address is not verified there', ERIN, 'not linked with an account here'],
  ])('%s', async (_who, user, sentence) => {
    const who = traveller(server, corp)
    const page = await signInBy(server, corp, user, who)
    expect([page.status, findForm(page, 'login')?.fields['username'], errorOn(page)]).toEqual([
      200,
      '',
      expect.stringContaining(sentence),
    ])
    expect(await users.find(user.username)).toBeNull()
    // Another way goes on in the same interaction, and the sentence goes.
    const next = await who.here.submit(page, 'login', { username: 'alice', password: 'wrong' })
    expect([next.status, errorOn(next)]).toEqual([403, undefined])
    answerOf(await goThrough(who.here, next))
  })

  test('who denies there comes back to the sign-in page, and can try again', async () => {
    const who = traveller(server, corp)
    const page = await who.here.get(authorizationUrl(server))
    const left = await who.here.submit(page, 'upstreams', { upstream: 'corp' })
    const login = await who.there.get(left.headers.get('location')!)
    const consent = await who.there.submit(login, 'login', CARLA as never)
    const denied = findForm(consent, 'consent')
      ? await who.there.submit(consent, 'consent', { decision: 'deny' })
      : consent
    const { origin, pathname, searchParams } = new URL(denied.headers.get('location')!)
    const address = `${origin}${pathname}?${new URLSearchParams({ state: searchParams.get('state')!, iss: corp.issuer, error: 'access_denied' }).toString()}`
    const back = await who.here.get(address)
    expect(errorOn(back)).toBe('You did not sign in at CORP. Try again, or sign in another way.')
    answerOf(await allow(who.here, await who.here.get(await answerFrom(who, back, 'corp', CARLA))))
  }) // prettier-ignore

  test('whose account is disabled', async () => {
    await users.disable('carl')
    const page = await signInBy(server, corp, { ...ALICE, username: 'c' })
    expect(errorOn(page)).toContain('is disabled')
  })
})

describe('who has to show once more that it is them', () => {
  const signedIn = async () => {
    const who = traveller(server, corp)
    const page = await who.here.get(`${server.url}/account/profile`)
    await who.here.get(await answerFrom(who, page, 'corp', CARLA))
    return who
  }

  test('is sent there with prompt=login, and goes on', async () => {
    const who = await signedIn()
    const page = await who.here.get(authorizationUrl(server, { prompt: 'login' }))
    expect(page.body).toContain('Confirm it is you')
    const left = await who.here.submit(page, 'upstreams', { upstream: 'corp' })
    expect(new URL(left.headers.get('location')!).searchParams.get('prompt')).toBe('login')
    answerOf(await allow(who.here, await who.here.get(await answerAt(who, left, CARLA))))
  })

  test('is not asked for a password that they never had', async () => {
    const who = await signedIn()
    const page = await who.here.get(authorizationUrl(server, { prompt: 'login' }))
    expect(findForm(page, 'login')).toBeUndefined()
    expect(findForm(page, 'upstreams')).toBeDefined()
    expect(page.body).not.toContain('type="password"')
  })

  test('and comes back as somebody else is refused, and stays who they were', async () => {
    const who = await signedIn()
    const page = await who.here.get(authorizationUrl(server, { prompt: 'login' }))
    const other = traveller(server, corp)
    await users.create({ username: 'felix', email: 'felix@corp.example', email_verified: true })
    const FELIX = { username: 'felix', password: ALICE.password }
    await corp.server.server.oauth.users.create({ ...FELIX, email: 'felix@corp.example', email_verified: true })
    const back = await who.here.get(await answerFrom({ here: who.here, there: other.there }, page, 'corp', FELIX))
    expect(errorOn(back)).toContain('you signed in as somebody else than here')
    expect((await who.here.get(`${server.url}/account`)).body).toContain('<bdi>carla</bdi>')
  })

  test('sees no button of an upstream that they are not linked with', async () => {
    const agent = createUserAgent(server.url)
    await goThrough(agent, await agent.get(authorizationUrl(server)))
    const page = await agent.get(authorizationUrl(server, { prompt: 'login' }))
    expect([findForm(page, 'upstreams'), findForm(page, 'login')?.fields['username']]).toEqual([undefined, ALICE.username])
  })
}) // prettier-ignore

describe('an upstream that', () => {
  test('is down: a sentence and another way, and no error of ours', async () => {
    const { server: below } = await startBelow(async () => [
      { id: 'gone', issuer: 'http://localhost:9', client_id: 'a', server },
    ])
    const agent = createUserAgent(below.url)
    const page = await agent.submit(await agent.get(authorizationUrl(below)), 'upstreams', {
      upstream: 'gone',
    })
    expect([page.status, errorOn(page)]).toEqual([
      403,
      expect.stringContaining('localhost:9 does not answer'),
    ])
    answerOf(await goThrough(agent, page))
    const [, reason] = /"reason":"([^"]*)","msg":"a sign-in by an upstream failed"/.exec(below.output()) ?? []
    // `fetch` itself refuses this port.
    expect(reason).toBe('no answer came: bad port')
  })

  test('is on a private network is not asked unless an operator says so', async () => {
    const { server: below } = await startBelow(
      async () => [{ id: 'inside', issuer: corp.issuer, client_id: 'a', server }],
      { UNSAFE_OUTBOUND_ORIGINS: '' },
    )
    const agent = createUserAgent(below.url)
    const page = await agent.submit(await agent.get(authorizationUrl(below)), 'upstreams', {
      upstream: 'inside',
    })
    expect([page.status, errorOn(page)]).toEqual([403, expect.stringContaining('does not answer')])
    expect(below.output()).toContain('the address is not https')
  })
})

test('a start without upstreams has none of it on its sign-in page and its account', async () => {
  const bare = await startServer({}, { seed: { users: [ALICE] } })
  const agent = createUserAgent(bare.url)
  const page = await agent.get(`${bare.url}/account/security`)
  expect(page.body).not.toContain('upstream')
  const security = await goThrough(agent, page)
  expect([new URL(security.url).pathname, security.body]).toEqual(['/account/security', expect.not.stringContaining('Linked')])
}) // prettier-ignore
