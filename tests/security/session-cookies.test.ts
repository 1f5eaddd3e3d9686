/** The cookies that sign people in, where the issuer is https and a proxy in front speaks plain HTTP to the server. */
import { describe, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'
import { ALICE, answerOf, authorizationUrl, goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../support/user-agent.ts'

const server = await startServer({}, { seed: SEED })

async function isSignedIn(agent: UserAgent, at: { url: string }): Promise<boolean> {
  const url = authorizationUrl({ get: server.get, ...at }, { prompt: 'none' })
  return answerOf(await agent.get(url)).get('error') !== 'login_required'
}

test('a session is a cookie that scripts and other sites do not get', async () => {
  const lines = await cookiesSet(server, server.url)
  expect(lines.toSorted()).toEqual([
    expect.stringMatching(/^latchkey-browser=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax$/),
    expect.stringMatching(/^latchkey-known=[\w.-]+; Max-Age=15552000; Path=\/; HttpOnly; SameSite=Lax$/),
    expect.stringMatching(/^latchkey-session=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax$/),
  ])
})

describe('where the issuer is https, behind a proxy', () => {
  test('S2: cookies are for https and this host alone, and people can sign in and out', async () => {
    const { secure, origin, agent } = await startSecure('https://id.example')
    const lines = await cookiesSet(secure, origin, 'https://id.example')
    const attributes = '=[A-Za-z0-9_-]{43}; Path=/; HttpOnly; Secure; SameSite=Lax$'
    expect(lines.toSorted()).toEqual([
      expect.stringMatching(new RegExp(`^__Host-latchkey-browser${attributes}`)),
      expect.stringMatching(
        /^__Host-latchkey-known=[\w.-]+; Max-Age=15552000; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      ),
      expect.stringMatching(new RegExp(`^__Host-latchkey-session${attributes}`)),
    ])
    const page = await goThrough(agent, await agent.get(authorizationUrl({ ...secure, url: origin })))
    expect(answerOf(page).get('iss')).toBe('https://id.example')
    expect([...agent.cookies.keys()].toSorted()).toEqual([
      '__Host-latchkey-browser',
      '__Host-latchkey-known',
      '__Host-latchkey-session',
    ])
  })

  test('a path of the issuer does not narrow them, as the prefix asks', async () => {
    const { secure, origin } = await startSecure('https://id.example/sign/in')
    const lines = await cookiesSet(secure, `${origin}/sign/in`, 'https://id.example')
    expect(lines.every((line) => line.includes('; Path=/; '))).toBe(true)
  })

  test('cookies without the prefix count for nothing', async () => {
    const { agent, origin } = await startSecure('https://id.example')
    await goThrough(agent, await agent.get(authorizationUrl({ get: server.get, url: origin })))
    const plain = createUserAgent(origin, { origin: 'https://id.example' })
    for (const [name, value] of agent.cookies) plain.cookies.set(name.replace('__Host-', ''), value)
    expect([await isSignedIn(agent, { url: origin }), await isSignedIn(plain, { url: origin })]).toEqual([
      true,
      false,
    ])
  })

  test.each(['http://id.example', 'https://id.example:8443', 'https://evil.example', 'null'])(
    'a form from %s is refused, whatever Host the proxy passes on',
    async (foreign) => {
      const { secure } = await startSecure('https://id.example')
      for (const host of ['id.example', '127.0.0.1:3000', 'evil.example', 'null']) {
        const headers = { host, 'content-type': 'application/x-www-form-urlencoded' }
        const { url, cookie, payload } = await loginForm(secure)
        for (const [origin, read] of [
          [foreign, false],
          ['https://id.example', true],
        ] as const) {
          const sent = { ...headers, cookie, origin }
          const answer = await secure.server.inject({ method: 'POST', url, payload, headers: sent })
          expect([host, answer.statusCode, answer.body.includes('login-error')]).toEqual([host, 403, read])
        }
      }
    },
  )
})

/** The Set-Cookie lines of a whole sign-in, sorted. */
async function cookiesSet(from: TestServer, at: string, origin = new URL(at).origin): Promise<string[]> {
  const begun = await from.get(authorizationUrl({ ...from, url: at }))
  const { url, cookie, payload } = await loginForm(from, ALICE.password)
  const headers = { cookie, origin, 'content-type': 'application/x-www-form-urlencoded' }
  const signedIn = await from.server.inject({ method: 'POST', url, payload, headers })
  return [...begun.headers.getSetCookie(), ...[signedIn.headers['set-cookie'] ?? []].flat()]
}

/** A login form as its browser would send it. */
async function loginForm({ server: app, settings }: TestServer, password = 'wrong') {
  const base = new URL(String(settings.OIDC_ISSUER)).pathname.replace(/\/$/, '')
  const { search } = new URL(authorizationUrl({ get: server.get, url: 'http://any' }))
  const begun = await app.inject(`${base}/authorize${search}`)
  const cookie = String(begun.headers['set-cookie']).split(';')[0]!
  const { body } = await app.inject({ url: begun.headers.location!, headers: { cookie } })
  const csrf_token = /name="csrf_token" value="([^"]+)"/.exec(body)![1]!
  const payload = new URLSearchParams({ csrf_token, username: ALICE.username, password }).toString()
  const url = String(begun.headers.location).replace('?', '/login?')
  return { url, cookie, payload }
}

/** A production server, spoken to by plain HTTP as its proxy does. */
async function startSecure(issuer: string) {
  const secure = await startServer({ OIDC_ISSUER: issuer, NODE_ENV: 'production' }, { seed: SEED })
  const origin = `http://127.0.0.1:${secure.settings.PORT}`
  return { secure, origin, agent: createUserAgent(origin, { origin: 'https://id.example' }) }
}
