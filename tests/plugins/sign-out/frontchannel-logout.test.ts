/** OpenID Connect Front-Channel Logout 1.0: the page that signs out loads what apps have registered, and leads on as it was asked. */
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import { noBrowser } from '../../support/browser.ts'
import { newPerson, signIn as signInAt } from '../../support/people.ts'
import { startReceiver } from '../../support/receiver.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, authorizationUrl, goThrough, SEED, type Tokens, WEB } from '../../support/sign-in.ts'
import { createUserAgent, type Page, type UserAgent } from '../../support/user-agent.ts'

const CLEARED = 'session=; Max-Age=0; Path=/'
/** Two apps, of origins of their own: one answers at once, one never. */
const shop = await startReceiver(({ url }, response) =>
  url.startsWith('/out')
    ? response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': CLEARED }).end('<p>out</p>')
    : response.writeHead(200, { 'content-type': 'text/html' }).end('<p id="home">Welcome</p>'),
)
const slow = await startReceiver(({ url }, response) =>
  url.startsWith('/out')
    ? undefined
    : response.writeHead(200, { 'content-type': 'text/html' }).end('<p>slow</p>'),
)
const [SHOP, SLOW] = [shop, slow].map(({ port }) => `http://127.0.0.1:${port}`) as [string, string]
const AFTER = `${SHOP}/after`
const registered = (client_id: string, more: object = {}) => ({
  ...WEB,
  client_id,
  client_name: `App ${client_id}`,
  redirect_uri: undefined,
  redirect_uris: [WEB.redirect_uri, `${SHOP}/callback`],
  post_logout_redirect_uris: [AFTER, 'com.example.app:/after'],
  ...more,
})
const clients = [
  registered('framed', {
    frontchannel_logout_uri: `${SHOP}/out?a=b%20c`,
    frontchannel_logout_session_required: true,
  }),
  registered('other', { frontchannel_logout_uri: 'https://app.example/out' }),
  registered('silent'),
  registered('posted', { backchannel_logout_uri: 'https://app.example/out' }),
  registered('slow', {
    redirect_uris: [WEB.redirect_uri, `${SLOW}/`],
    frontchannel_logout_uri: `${SLOW}/out`,
  }),
]
const server = await startServer({}, { seed: { ...SEED, clients } })
const { oauth } = server.server

interface SignedIn {
  agent: UserAgent
  id_token: string
  refresh_token: string
  sid: string
}

async function signIn(client_id: string, agent = createUserAgent(server.url)): Promise<SignedIn> {
  const page = await goThrough(agent, await agent.get(authorizationUrl(server, { client_id })))
  const code = new URL(page.headers.get('location')!).searchParams.get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri: WEB.redirect_uri }
  const credentials = { client_id, client_secret: WEB.client_secret }
  const answer = await server.post('/token', { ...form, ...credentials })
  const { id_token, refresh_token } = (await answer.json()) as Tokens
  return { agent, id_token, refresh_token, sid: decodeJwt(id_token)['sid'] as string }
}

async function leave({ agent, id_token }: SignedIn, more: Record<string, string> = {}): Promise<Page> {
  const query = new URLSearchParams({ id_token_hint: id_token, ...more }).toString()
  return agent.get(`${server.url}/end-session?${query}`)
}

/** The addresses of the frames of a page, and where its policy lets frames come from. */
function framesOf({ body, headers }: Page): { frames: string[]; from: string | undefined } {
  const frames = [...body.matchAll(/<iframe src="([^"]*)"/g)].map(([, uri]) => uri!.replaceAll('&amp;', '&'))
  const policy = headers.get('content-security-policy')!.split('; ')
  return { frames, from: policy.find((one) => one.startsWith('frame-src ')) }
}

const addressFor = (uri: string, sid: string): string =>
  `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams({ iss: server.url, sid }).toString()}`

const nextOf = ({ body }: Page): string =>
  /id="go-on" href="([^"]*)"/.exec(body)![1]!.replaceAll('&amp;', '&')

test('the metadata says that it is served, with sessions', async () => {
  const metadata = await (await server.get('/.well-known/openid-configuration')).json()
  expect(metadata).toMatchObject({
    frontchannel_logout_supported: true,
    frontchannel_logout_session_supported: true,
  })
})

describe('the page', () => {
  test('has a frame of each app of the session with iss and sid, a policy for these origins alone, and says which apps are told', async () => {
    const { agent, sid } = await signIn('framed')
    await signIn('silent', agent)
    await signIn('posted', agent)
    const last = await signIn('other', agent)
    const page = await leave(last)
    expect(framesOf(page)).toEqual({
      frames: [addressFor(`${SHOP}/out?a=b%20c`, sid), addressFor('https://app.example/out', sid)],
      from: `frame-src ${SHOP} https://app.example`,
    })
    expect(page.body).toMatch(/id="signed-out"[\s\S]*App framed[\s\S]*App other[\s\S]*App posted/)
    expect(page.body).not.toContain('App silent')
    expect(page.body).toContain('sandbox="allow-forms allow-same-origin allow-scripts"')
  })

  test('frames also an app that gave its tokens back before', async () => {
    const { agent, sid, refresh_token: token } = await signIn('framed')
    const credentials = { client_id: 'framed', client_secret: WEB.client_secret }
    expect((await server.post('/revoke', { token, ...credentials })).status).toBe(200)
    const page = await leave(await signIn('silent', agent))
    expect(framesOf(page).frames).toEqual([addressFor(`${SHOP}/out?a=b%20c`, sid)])
    expect(page.body).toContain('App framed')
  })

  test('leads on to where the app asked, by an address of ours', async () => {
    for (const uri of [AFTER, 'com.example.app:/after']) {
      const signedIn = await signIn('framed')
      const page = await leave(signedIn, { post_logout_redirect_uri: uri, state: 'a state' })
      expect([page.status, page.headers.get('location')]).toEqual([200, null])
      expect(framesOf(page).frames).toEqual([addressFor(`${SHOP}/out?a=b%20c`, signedIn.sid)])
      expect(page.body).toContain('App framed')
      const query = { client_id: 'framed', post_logout_redirect_uri: uri, state: 'a state' }
      expect(nextOf(page)).toBe(`/end-session?${new URLSearchParams(query).toString()}`)
      const next = await fetch(new URL(nextOf(page), server.url), { redirect: 'manual' })
      expect([next.status, next.headers.get('location')]).toEqual([303, `${uri}?state=a+state`])
    }
  })

  test('is not there where nobody has to be told so: the way back is a redirect as before', async () => {
    for (const client of ['silent', 'posted']) {
      const page = await leave(await signIn(client), { post_logout_redirect_uri: AFTER })
      expect([page.status, page.headers.get('location')]).toEqual([303, AFTER])
    }
    const page = await leave(await signIn('silent'))
    expect([framesOf(page), page.body.includes('id="told"')]).toEqual([
      { frames: [], from: undefined },
      false,
    ])
  })

  test('comes by the button of a page of ours too, and by the question', async () => {
    const { agent, sid } = await signIn('framed')
    const here = await agent.submit(await agent.get(`${server.url}/account`), 'sign-out-form')
    expect(framesOf(here).frames).toEqual([addressFor(`${SHOP}/out?a=b%20c`, sid)])
    const other = await signIn('framed')
    const asked = await other.agent.get(`${server.url}/end-session`)
    const done = await other.agent.submit(asked, 'end-session')
    expect(framesOf(done).frames).toEqual([addressFor(`${SHOP}/out?a=b%20c`, other.sid)])
    // There is nothing left to end: nobody is told again.
    expect(framesOf(await other.agent.get(`${server.url}/end-session`)).frames).toEqual([])
  })

  test('never has a frame of who has the name of an app that is gone', async () => {
    const told = { frontchannel_logout_uri: `${SHOP}/out` }
    const addresses = async (end: (signedIn: SignedIn) => Promise<Page>): Promise<string[]> => {
      await oauth.clients.create(registered('former', told))
      const signedIn = await signIn('former')
      await oauth.clients.delete('former')
      // As clocks may differ a little.
      await server.database.query(`update authorizations set created_at = created_at - interval '1 hour' where client_id = 'former'`)
      const noted = await server.database.query(`update sessions set clients = '{"former": 1}' where sid = $1 returning sid`, [signedIn.sid])
      expect(noted).toEqual([{ sid: signedIn.sid }])
      await oauth.clients.create(registered('former', { ...told, client_name: 'Successor' }))
      const page = await end(signedIn)
      await oauth.clients.delete('former')
      expect([page.status, page.body.includes('Successor'), page.body.includes(signedIn.sid)]).toEqual([200, false, false])
      return framesOf(page).frames
    }
    expect(await addresses(async ({ agent }) => leave(await signIn('silent', agent)))).toEqual([])
    expect(await addresses(async ({ agent }) => agent.submit(await agent.get(`${server.url}/account`), 'sign-out-form'))).toEqual([])
    expect(await addresses(async ({ agent }) => agent.submit(await agent.get(`${server.url}/end-session`), 'end-session'))).toEqual([])
  }) // prettier-ignore

  test('frames no more than 30 apps, and says nothing of the others', async () => {
    const { agent } = await signIn('framed')
    for (let n = 0; n < 31; n++) {
      const client_id = `many-${String(n).padStart(2, '0')}`
      await oauth.clients.create(
        registered(client_id, { frontchannel_logout_uri: `https://app.example/out/${n}` }),
      )
      await signIn(client_id, agent)
    }
    const page = await leave(await signIn('silent', agent))
    expect(framesOf(page).frames).toHaveLength(30)
    expect(page.body).toContain('App many-28')
    expect(page.body).not.toContain('App many-29')
  })
})

describe('the members', () => {
  test.each([
    [
      { frontchannel_logout_uri: 'https://evil.example/out' },
      'frontchannel_logout_uri must have the scheme, host and port of a redirect URI',
    ],
    [{ frontchannel_logout_uri: 'https://app.example:8443/out' }, 'must have the scheme, host and port'],
    [{ frontchannel_logout_uri: 'http://app.example/out' }, 'must have the scheme, host and port'],
    [{ frontchannel_logout_uri: 'https://[/out' }, 'must be an absolute http or https URL'],
    [
      { frontchannel_logout_uri: 'javascript:alert(1)' },
      'frontchannel_logout_uri must be an absolute http or https URL',
    ],
    [{ frontchannel_logout_uri: 'https://app.example/out#a' }, 'without a fragment'],
    [{ frontchannel_logout_session_required: 1 }, 'frontchannel_logout_session_required must be boolean'],
    [
      {
        frontchannel_logout_uri: `${SHOP}/out`,
        token_endpoint_auth_method: 'none',
        client_secret: undefined,
      },
      'must use https, unless the client is confidential',
    ],
  ])('%j are refused', async (members, message) => {
    const { client_id: _id, ...client } = registered('refused')
    await expect(oauth.clients.create({ ...client, ...members })).rejects.toMatchObject({
      code: 'invalid_client_metadata',
      message: expect.stringContaining(message) as string,
    })
  })

  test('that were stored before anybody looked at them frame nobody else’s page', async () => {
    await oauth.clients.create(registered('older'))
    await server.database.query(
      `update clients set metadata = metadata || '{"frontchannel_logout_uri": "https://evil.example/out"}' where client_id = 'older'`,
    )
    const page = await leave(await signIn('older'))
    expect([framesOf(page).frames, page.body.includes('evil.example')]).toEqual([[], false])
  })
})

test('left out, it is not offered, and a sign-out leads back at once', async () => {
  const quiet = await startServer({ WITHOUT: 'latchkey-frontchannel-logout' }, { seed: { ...SEED, clients } })
  expect(await (await quiet.get('/.well-known/openid-configuration')).text()).not.toContain('frontchannel')
  const agent = createUserAgent(quiet.url)
  await goThrough(agent, await agent.get(authorizationUrl(quiet, { client_id: 'framed' })))
  const page = await agent.submit(await agent.get(`${quiet.url}/account`), 'sign-out-form')
  expect(framesOf(page)).toEqual({ frames: [], from: undefined })
})

describe.skipIf(noBrowser)('in Chromium', () => {
  const sentTo = (receiver: typeof shop) => receiver.received.filter(({ url }) => url.startsWith('/out?'))

  /** Signed in at these apps, by a browser of their own. */
  async function arrive(apps: Readonly<Record<string, string>>, javaScriptEnabled: boolean) {
    const person = await newPerson({ javaScriptEnabled })
    const { page } = person
    for (const [client_id, redirect_uri] of Object.entries(apps)) {
      await page.goto(authorizationUrl(server, { client_id, redirect_uri, prompt: 'consent' }))
      if (await page.isVisible('#login')) await signInAt(person, ALICE)
      await page.click('#allow')
      await page.waitForURL(`${redirect_uri}?*`)
      const code = new URL(page.url()).searchParams.get('code')!
      const credentials = { client_id, client_secret: WEB.client_secret }
      const form = { grant_type: 'authorization_code', code, redirect_uri, ...credentials }
      expect((await server.post('/token', form)).status).toBe(200)
    }
    return person
  }

  async function leaveBy({ page }: Awaited<ReturnType<typeof arrive>>): Promise<void> {
    const query = new URLSearchParams({ client_id: 'framed', post_logout_redirect_uri: AFTER, state: 'x' })
    await page.goto(`${server.url}/end-session?${query.toString()}`)
    await page.click('#sign-out')
  }

  test.each([true, false])(
    'the app is told by its own page, and people come back; scripts: %s',
    async (javaScriptEnabled) => {
      const person = await arrive({ framed: `${SHOP}/callback` }, javaScriptEnabled)
      const { page, said } = person
      const before = sentTo(shop).length
      await leaveBy(person)
      if (!javaScriptEnabled) await page.click('#go-on')
      await page.waitForURL(`${AFTER}?state=x`)
      const told = sentTo(shop).slice(before)
      expect(told.map(({ url }) => new URL(url, SHOP).searchParams.get('iss'))).toEqual([server.url])
      const { headers } = told[0]!
      expect([headers['sec-fetch-dest'], headers.referer]).toEqual(['iframe', undefined])
      expect(said).toEqual([])
    },
  )

  test('an app that never answers keeps nobody', async () => {
    const person = await arrive({ framed: `${SHOP}/callback`, slow: `${SLOW}/` }, true)
    const before = sentTo(shop).length
    await leaveBy(person)
    await person.page.waitForURL(`${AFTER}?state=x`)
    expect([sentTo(shop).length - before, sentTo(slow).length]).toEqual([1, 1])
  })
})
