/**
 * Upstreams that speak OAuth 2.0 alone: GitHub as its documentation says that it answers, and the same service registered by its endpoints. What
 * has no ID token proves less, and that is said where it matters.
 * @needs latchkey-upstreams
 */
import { describe, expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { endpointsOf } from '../../../src/protocol/upstream-kinds.ts'
import { startGitHub } from '../../support/github.ts'
import { isThere } from '../../support/left-out.ts'
import { linkIn, openMailbox } from '../../support/mailbox.ts'
import { startServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import { ALICE, answerOf, authorizationUrl, BOB, exchange, goThrough, SEED } from '../../support/sign-in.ts'
import { allow } from '../../support/upstreams.ts'
import { createUserAgent, findForm, type Page } from '../../support/user-agent.ts'

const mail = (email: string, verified = true, primary = true) => ({ email, primary, verified })
const OCTOCAT = {
  id: 1,
  login: 'octocat',
  name: 'monalisa octocat',
  emails: [mail('old@corp.example', true, false), mail('octocat@corp.example')],
}
const HUBOT = { id: 480938, login: 'hubot', emails: [mail('hubot@corp.example', false)] }
const PRIVATE = { id: 77, login: 'private' }
const BOBBY = { id: 2 ** 31, login: 'bobby', emails: [mail(BOB.email, true)] }
const MAILED = { id: 91, login: 'mailed', emails: [mail('mailed@elsewhere.example')] }
const port = await freePort()
const url = `http://127.0.0.1:${port}`
const callback = (id: string) => `${url}/upstream/${id}/callback`
const github = await startGitHub(
  [OCTOCAT, HUBOT, PRIVATE, BOBBY, MAILED],
  ['github', 'plain', 'wrong'].map(callback),
)
const { client_id, client_secret } = github.client
const REGISTERED = { id: 'github', kind: 'github', issuer: github.issuer, client_id, client_secret }
const PLAIN = {
  id: 'plain',
  kind: 'oauth2',
  name: 'Plain',
  issuer: 'https://code.example',
  authorization_endpoint: `${github.issuer}/authorize`,
  token_endpoint: `${github.issuer}/access_token`,
  userinfo_endpoint: `${github.origin}/api/v3/user`,
  token_endpoint_auth_method: 'client_secret_post',
  subject_claim: 'id',
  scope: ['user'],
  claims: { preferred_username: 'login', profile: 'html_url', nickname: 'login', email: 'none' },
  client_id,
  client_secret,
  sign_up: true,
}
const server = await startServer(
  { PORT: port, UNSAFE_OUTBOUND_ORIGINS: github.origin },
  {
    seed: {
      ...SEED,
      upstreams: [
        { ...REGISTERED, sign_up: true, domains: ['corp.example'], trust_email: true },
        PLAIN,
        { ...REGISTERED, id: 'wrong', client_secret: 'that of another app' },
      ],
    },
  },
)
const { users } = server.server.oauth
const errorOn = ({ body }: Page): string | undefined =>
  /id="upstreams-error"[^>]*>(.*?)<\/p>/.exec(body)?.[1]?.replaceAll(/<\/?bdi>/g, '')

async function leave(id = 'github', agent = createUserAgent(url), parameters = {}) {
  const page = await agent.get(authorizationUrl(server, parameters))
  return { agent, left: await agent.submit(page, 'upstreams', { upstream: id }) }
}

async function comeBy(login: string, id = 'github', agent = createUserAgent(url)) {
  const { left } = await leave(id, agent)
  return { agent, page: await agent.get(await github.agree(left, login)) }
}

const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>

describe('by GitHub', () => {
  test('a new person gets an account with what they are called there and their verified address, and comes back to it under another name', async () => {
    const { left, agent } = await leave('github', createUserAgent(url), { scope: 'openid profile email' })
    const consent = await agent.get(await github.agree(left, 'octocat'))
    const code = answerOf(await allow(agent, consent)).get('code')!
    const { id_token } = (await (await exchange(server, code)).json()) as { id_token: string }
    const user = (await users.find('octocat'))!
    expect(claimsOf(id_token)).toMatchObject({
      sub: user.id,
      acr: '1',
      preferred_username: 'octocat',
      name: 'monalisa octocat',
      picture: `${github.origin}/images/error/octocat_happy.gif`,
      profile: `${github.origin}/octocat`,
      email: 'octocat@corp.example',
      email_verified: true,
    })
    const [link] = await server.server.linkedSignIns.list(user.id)
    expect(link!.value).toMatchObject({ upstream: 'github', issuer: github.issuer, subject: '1' })
    github.lie({ user: [200, { id: 1, login: 'renamed' }] })
    const later = await comeBy('octocat')
    github.lie({})
    answerOf(await allow(later.agent, later.page))
    expect([await users.find('renamed'), (await server.server.linkedSignIns.list(user.id)).length]).toEqual([null, 1])
  }) // prettier-ignore

  test('the request that is sent there is a code flow with PKCE and state, and has nothing of OpenID Connect', async () => {
    const { left } = await leave('github', createUserAgent(url), { login_hint: 'octocat@corp.example' })
    const to = new URL(left.headers.get('location')!)
    expect([to.origin + to.pathname, Object.fromEntries(to.searchParams)]).toEqual([
      `${github.issuer}/authorize`,
      {
        client_id,
        response_type: 'code',
        redirect_uri: callback('github'),
        scope: 'read:user user:email',
        code_challenge_method: 'S256',
        code_challenge: expect.stringMatching(/^[\w-]{43}$/) as string,
        state: expect.stringMatching(/^[\w-]{43}$/) as string,
      },
    ])
  })

  test('the secret goes in the body alone, and the API is asked as GitHub wants it', async () => {
    const before = github.received.length
    await comeBy('private')
    const asked = github.received.slice(before).filter(({ url: at }) => !at.includes('/authorize'))
    expect(asked.map(({ method, url: at }) => `${method} ${at}`)).toEqual([
      'POST /login/oauth/access_token',
      'GET /api/v3/user',
      'GET /api/v3/user/emails?per_page=100',
    ])
    const [token, ...api] = asked
    expect(token!.headers).toMatchObject({ accept: 'application/json' })
    expect(token!.headers).not.toHaveProperty('authorization')
    for (const { headers } of api)
      expect(headers).toMatchObject({
        accept: 'application/vnd.github+json',
        authorization: expect.stringMatching(/^Bearer gho_/) as string,
        'user-agent': expect.stringMatching(/./) as string,
      })
    for (const { url: at } of asked) expect(at).not.toMatch(/gho_|client_secret/)
  })

  test('who is known already is not asked for their addresses', async () => {
    const before = github.received.length
    await comeBy('private')
    expect(github.received.slice(before).map(({ url: at }) => at)).not.toContain(
      '/api/v3/user/emails?per_page=100',
    )
  })

  test('an address that is not verified, or that they only show to everybody, is not taken', async () => {
    for (const login of ['hubot', 'private']) {
      await comeBy(login)
      expect([login, (await users.find(login))!.claims['email']]).toEqual([login, undefined])
    }
  })

  test('who has the same verified address is linked where it is believed, and else makes no second account by it', async () => {
    const carl = await users.create({ username: 'carl', email: 'CARL@corp.example', email_verified: true })
    github.lie({ emails: [200, [mail('carl@corp.example')]], user: [200, { id: 501, login: 'carl-there' }] })
    await comeBy('octocat')
    expect(await users.waysIn(carl.id)).toEqual(['upstream-link'])
    expect(await users.find('carl-there')).toBeNull()
    github.lie({ emails: [200, [mail('carl@corp.example')]], user: [200, { id: 502, login: 'next-carl' }] })
    const { page } = await comeBy('octocat')
    github.lie({})
    expect([errorOn(page), await users.find('next-carl')]).toEqual([
      expect.stringContaining('There is an account here already'),
      null,
    ])
  })

  test.runIf(isThere('latchkey-mail'))('whose address is not believed shows by a mail that it is theirs', async () => {
    const { page, agent } = await comeBy('mailed')
    expect([page.body, await users.find('mailed')]).toEqual([expect.stringContaining('Check your email'), null])
    const letter = await openMailbox(server).next('mailed@elsewhere.example', 'Confirm your email address')
    const consent = await agent.submit(await agent.get(linkIn(letter)), 'confirm')
    answerOf(await allow(agent, consent))
    const user = (await users.find('mailed'))!
    const [link] = await server.server.linkedSignIns.list(user.id)
    expect([user.claims, link!.value]).toMatchObject([{ email: 'mailed@elsewhere.example', email_verified: true }, { subject: '91' }])
  }) // prettier-ignore
})

test.each([
  ['as they were', {}],
  ['without a type', { token_type: null, expires_in: '3600' }],
  ['with a time that is empty', { expires_in: '' }],
] as const)('a token that comes as a form is read: %s', async (_what, form) => {
  github.lie({ form })
  const { page, agent } = await comeBy('octocat', 'plain')
  github.lie({})
  answerOf(await allow(agent, page))
})

test.each([
  ['an error', { error: 'slow_down', access_token: null }, 'slow_down'],
  ['many members', Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`m${n}`, 'x'])), 'a sign-in by an upstream failed'],
] as const)('a form with %s signs nobody in', async (_what, form, reason) => {
  const from = server.output().length
  github.lie({ form })
  const { page } = await comeBy('octocat', 'plain')
  github.lie({})
  expect(errorOn(page)).toBeDefined()
  expect(server.output().slice(from)).toContain(reason)
}) // prettier-ignore

describe('what goes wrong there', () => {
  test('who cancels reads so, and can try again', async () => {
    const { page, agent } = await comeBy('')
    expect(errorOn(page)).toMatch(/^You did not sign in at localhost:\d+\. Try again/)
    const left = await agent.submit(page, 'upstreams', { upstream: 'github' })
    answerOf(await allow(agent, await agent.get(await github.agree(left, 'private'))))
  })

  test.each([
    ['a code that is not good', { answer: { code: 'a code of somebody else' } }, 'bad_verification_code'],
    ['an error with the status 200', { token: [200, { error: 'unverified_user_email' }] }, 'unverified_user_email'],
    ['no token', { token: [200, { token_type: 'bearer' }] }, 'access_token'],
    ['a token that no header has', { token: [200, { access_token: 'gho_a\r\nb', token_type: 'bearer' }] }, 'its access token'],
    ['no object', { user: [200, [1]] }, 'its userinfo is no JSON object'],
    ['nobody', { user: [200, { login: 'octocat' }] }, 'its userinfo has no id'],
    ['an empty id', { user: [200, { id: '' }] }, 'its userinfo has no id'],
    ['an id that is nobody’s alone', { user: [200, { id: 2 ** 53 }] }, 'its userinfo has no id'],
    ['an id that is no number', { user: [200, { id: { id: 1 } }] }, 'its userinfo has no id'],
    ['an id with NUL', { user: [200, { id: 'a\0b' }] }, 'its userinfo has no id'],
    ['a token that it does not know', { user: [401, { message: 'Bad credentials' }] }, '/api/v3/user answers 401'],
    ['addresses that may not be read', { user: [200, { id: 900 }], emails: [404, {}] }, '/api/v3/user/emails answers 404'],
    ['addresses that are no list', { user: [200, { id: 900 }], emails: [200, {}] }, 'its addresses are no list'],
    ['another issuer', { answer: { iss: 'https://github.com/login/oauth' } }, 'iss'],
  ] as const)('%s signs nobody in, and the log says why', async (_what, lie, reason) => {
    const [accounts, from] = [(await users.search('')).found.length, server.output().length]
    github.lie(lie)
    const { page, agent } = await comeBy('octocat')
    github.lie({})
    expect([page.status, errorOn(page)]).toEqual([200, expect.stringContaining('could not read the answer')])
    expect(new URL((await agent.get(`${url}/account`)).url).pathname).toBe('/sign-in')
    const log = server.output().slice(from)
    expect(log).toContain('a sign-in by an upstream failed')
    expect(log).toContain(reason)
    expect(log).not.toMatch(/gho_|100% of it|a code of somebody else/)
    expect((await users.search('')).found.length).toBe(accounts)
  }) // prettier-ignore

  test('what it says itself is in the log as its own: in quotation marks, on one line, and not at length', async () => {
    const from = server.output().length
    const error_description = `it's "your" fault\r\n{"level":60}\u202e${'x'.repeat(5000)}`
    github.lie({ token: [400, { error: 'invalid_grant', error_description }] })
    await comeBy('octocat')
    github.lie({})
    const [line] = server.output().slice(from).split('\n').filter((one) => one.includes('a sign-in by an upstream failed'))
    const { reason } = JSON.parse(line!) as { reason: string }
    expect(reason).toMatch(/; it says "invalid_grant", "it's 'your' fault \{'level':60\} x+…"/)
    expect(reason.length).toBeLessThan(800)
  }) // prettier-ignore

  test.each([
    ['the token endpoint', { token: [502, {}] }],
    ['the API', { user: [503, {}] }],
    ['the addresses', { user: [200, { id: 900 }], emails: [500, {}] }],
  ] as const)('%s that fails is to be tried again', async (_what, lie) => {
    github.lie(lie)
    const { page } = await comeBy('octocat')
    github.lie({})
    expect(errorOn(page)).toContain('does not answer at this moment')
  })

  test('a wrong secret is said in the log, as GitHub says it', async () => {
    const { page } = await comeBy('octocat', 'wrong')
    expect(errorOn(page)).toContain('could not read the answer')
    expect(server.output()).toContain('incorrect_client_credentials')
  })

  test('its own issuer in the answer is fine (RFC 9207)', async () => {
    github.lie({ answer: { iss: github.issuer } })
    const { page, agent } = await comeBy('private')
    github.lie({})
    answerOf(await allow(agent, page))
  })

  test('an ID token that nobody asked for is not read', async () => {
    const before = github.received.length
    const { left, agent } = await leave()
    const back = await github.agree(left, 'octocat')
    github.lie({ token: [200, { access_token: 'gho_x', token_type: 'bearer', id_token: 'no JWT' }] })
    const page = await agent.get(back)
    github.lie({})
    expect(errorOn(page)).toContain('could not read the answer')
    expect(github.received.slice(before).map(({ url: at }) => at)).toContain('/api/v3/user')
  })
})

describe('a fresh sign-in', () => {
  /** The form of the button, whether the page has it or not. */
  async function forced(agent: ReturnType<typeof createUserAgent>, parameters: Record<string, string>) {
    const { action, fields } = findForm(await agent.get(authorizationUrl(server, parameters)), 'login')!
    return agent.post(action.replace('/login?', '/login.upstream?'), { ...fields, upstream: 'github' })
  }

  test.each([
    ['prompt=login', { prompt: 'login' }],
    ['max_age', { max_age: '3600' }],
  ])('that an app asks for by %s is not by what cannot tell of it: it says so', async (_how, parameters) => {
    const agent = createUserAgent(url)
    const page = await agent.get(authorizationUrl(server, parameters))
    expect(page.body.replaceAll(/<\/?bdi>/g, '')).toMatch(
      /id="upstreams-withheld">This app asks you to sign in anew, and localhost:\d+, Plain(, | and )localhost:\d+ cannot tell us that you did\. Sign in another way\./,
    )
    expect(findForm(page, 'upstreams')).toBeUndefined()
    // Who has the page of another request makes up the form that this one does not have.
    const [elsewhere, here] = [await forced(createUserAgent(url), {}), await forced(agent, parameters)]
    expect([elsewhere.status, here.status, here.headers.get('location')]).toEqual([303, 403, null])
    answerOf(await goThrough(agent, page))
  }) // prettier-ignore

  test('that a page of ours asks for is one: whoever has stolen the cookie has nothing there, and the account is chosen anew', async () => {
    const { agent } = await comeBy('private')
    await server.database.query(
      `update sessions set authenticated_at = authenticated_at - interval '601 seconds'`,
    )
    const page = await agent.get(`${url}/sign-in?return_to=/account/security&max_age=600`)
    expect(page.body).toContain('Confirm it is you')
    const left = await agent.submit(page, 'upstreams', { upstream: 'github' })
    expect(new URL(left.headers.get('location')!).searchParams.get('prompt')).toBe('select_account')
    const other = await agent.get(await github.agree(left, 'hubot'))
    expect(errorOn(other)).toContain('somebody else than here')
    const again = await agent.submit(other, 'upstreams', { upstream: 'github' })
    expect((await agent.get(await github.agree(again, 'private'))).url).toBe(`${url}/account/security`)
  })
})

describe('on the account', () => {
  test('it is linked by who is signed in, shown, told in the export, used, and unlinked', async () => {
    const agent = createUserAgent(url)
    const page = await goThrough(agent, await agent.get(`${url}/account/linked-sign-ins`), BOB)
    const left = await agent.submit(page, 'link', { upstream: 'github' })
    const done = await agent.get(await github.agree(left, 'bobby'))
    expect(done.body).toContain('It is linked')
    expect((await agent.get(`${url}/account/security`)).body).toMatch(/<bdi>localhost:\d+<\/bdi>/)
    const { id } = (await users.find(BOB.username))!
    expect(JSON.stringify(await users.export(id))).toContain(github.issuer)
    const later = await comeBy('bobby')
    answerOf(await allow(later.agent, later.page))
    expect((await agent.submit(done, 'unlink-0')).body).toContain('not linked with your account any more')
    expect(await users.waysIn(id)).toEqual(['password'])
  })

  test('who signs out here stays signed in there', async () => {
    const { agent } = await comeBy('private')
    const left = await agent.submit(await agent.get(`${url}/account`), 'sign-out-form')
    expect([new URL(left.url).origin, left.body]).toEqual([url, expect.stringContaining('signed-out')])
  })
})

describe('any service, registered by its endpoints', () => {
  test('has its people known by what it is registered to call them', async () => {
    const { agent, page } = await comeBy('hubot', 'plain')
    answerOf(await allow(agent, page))
    const [link] = (
      await Promise.all(
        (await users.search('hubot')).found.map(async ({ id }) => server.server.linkedSignIns.list(id)),
      )
    )
      .flat()
      .filter(({ value }) => value.issuer === PLAIN.issuer)
    expect(link!.value).toMatchObject({ upstream: 'plain', subject: '480938' })
    const owner = (await users.search('hubot')).found.find(({ claims }) => claims['nickname'] === 'hubot')
    expect(owner!.claims).toMatchObject({ profile: `${github.origin}/hubot` })
  })

  test('has an issuer that no other service has: nobody is taken for somebody of that', async () => {
    const { upstreams } = kernelOf(server.server)
    const { issuer } = PLAIN
    for (const other of [{ client_id: 'us' }, { ...PLAIN, subject_claim: 'login' }]) {
      await upstreams.save({ ...other, id: 'twin', issuer })
      const { left } = await leave('plain')
      expect([left.status, errorOn(left)]).toEqual([
        403,
        expect.stringContaining('could not read the answer'),
      ])
      await upstreams.delete('twin')
    }
    expect(server.output()).toContain('the upstreams plain and twin have one issuer, and are not one service')
    // A second client of the same service is no other service.
    await upstreams.save({ ...PLAIN, id: 'twin', client_id: 'another' })
    expect((await leave('plain')).left.status).toBe(303)
    await upstreams.delete('twin')
  })

  test('that is of another kind by now takes no answer to what was asked of the former one', async () => {
    const { upstreams } = kernelOf(server.server)
    const { left, agent } = await leave('plain')
    const back = await github.agree(left, 'hubot')
    const none = { authorization_endpoint: null, token_endpoint: null, userinfo_endpoint: null }
    const openid = { ...none, token_endpoint_auth_method: null, subject_claim: null, scope: null }
    await upstreams.save({ ...openid, id: 'plain', kind: null })
    const page = await agent.get(back)
    await upstreams.save(PLAIN)
    expect([page.status, page.body]).toEqual([400, expect.stringContaining('This sign-in has ended')])
  })

  test('known by another member than before, nobody is: who is called there as somebody was numbered does not get their account', async () => {
    const { upstreams } = kernelOf(server.server)
    const had = (await users.search('hubot')).found.map(({ id }) => id)
    await upstreams.save({ id: 'plain', subject_claim: 'login' })
    github.lie({ user: [200, { id: 555, login: '480938' }] })
    const { agent, page } = await comeBy('hubot', 'plain')
    github.lie({})
    await upstreams.save(PLAIN)
    const code = answerOf(await allow(agent, page)).get('code')!
    const { id_token } = (await (await exchange(server, code)).json()) as { id_token: string }
    expect(had).not.toContain(claimsOf(id_token)['sub'])
    const back = await comeBy('hubot', 'plain')
    const again = answerOf(await allow(back.agent, back.page)).get('code')!
    const told = (await (await exchange(server, again)).json()) as { id_token: string }
    expect(had).toContain(claimsOf(told.id_token)['sub'])
  })

  test('without a subject_claim it is sub; without a method, the secret goes by Basic; without a scope, none is asked for', async () => {
    const { upstreams } = kernelOf(server.server)
    await upstreams.save({ id: 'plain', subject_claim: null, token_endpoint_auth_method: null, scope: null })
    const { left, agent } = await leave('plain')
    expect(new URL(left.headers.get('location')!).searchParams.has('scope')).toBe(false)
    const back = await github.agree(left, 'hubot')
    const before = github.received.length
    github.lie({ token: [200, { access_token: 'gho_x', token_type: 'bearer' }], user: [200, { sub: 'h' }] })
    await agent.get(back)
    github.lie({})
    const [token] = github.received.slice(before)
    const [, basic = ''] = /^Basic (\S+)$/.exec(token!.headers.authorization ?? '') ?? []
    const pair = Buffer.from(basic, 'base64').toString().split(':')
    expect(pair.map((one) => new URLSearchParams(`v=${one}`).get('v'))).toEqual([client_id, client_secret])
    expect(token!.body).not.toContain('client_secret')
    await upstreams.save(PLAIN)
  })
})

test('the API of github.com and of tenants at ghe.com is another host', () => {
  const userinfo = (issuer: string) => endpointsOf({ kind: 'github', issuer })!.userinfo_endpoint
  expect([
    userinfo('https://github.com/login/oauth'),
    userinfo('https://octocorp.ghe.com/login/oauth'),
    userinfo('https://github.corp.example:8443/login/oauth'),
    endpointsOf({ kind: 'github', issuer: 'https://github.com/login/oauth' }),
    endpointsOf({ issuer: 'https://id.example' }),
  ]).toEqual([
    'https://api.github.com/user',
    'https://api.octocorp.ghe.com/user',
    'https://github.corp.example:8443/api/v3/user',
    {
      authorization_endpoint: 'https://github.com/login/oauth/authorize',
      token_endpoint: 'https://github.com/login/oauth/access_token',
      userinfo_endpoint: 'https://api.github.com/user',
    },
    null,
  ])
})

test('alice, whom nobody linked, signs in as ever', async () => {
  const agent = createUserAgent(url)
  answerOf(await goThrough(agent, await agent.get(authorizationUrl(server)), ALICE))
})
