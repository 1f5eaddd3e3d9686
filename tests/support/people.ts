/** People at browsers with a screen: they sign in, follow a client's request to its end, and look at what they hold. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as client from 'openid-client'
import type { Page } from 'playwright-core'
import { complaintsOf, newBrowserContext } from './browser.ts'
import { atEndOfFile } from './cleanup.ts'
import { bearer, basic, type Requests } from './requests.ts'

export interface Person {
  page: Page
  /** What the pages complained of so far. */
  said: string[]
}

export interface Credentials {
  username: string
  password: string
}

/** A browser of their own. */
export async function newPerson({ javaScriptEnabled = true } = {}): Promise<Person> {
  const page = await (await newBrowserContext({ javaScriptEnabled })).newPage()
  return { page, said: complaintsOf(page) }
}

/** Where an app's users come back to; it shows them nothing. */
export async function openCallback(): Promise<string> {
  const app = createServer((_request, response) => response.end('Welcome'))
  app.listen(0, '127.0.0.1')
  await once(app, 'listening')
  atEndOfFile(async () => {
    app.closeAllConnections()
    app.close()
  })
  return `http://127.0.0.1:${(app.address() as AddressInfo).port}/callback`
}

/** On the page that asks for it. */
export async function signIn({ page }: Person, { username, password }: Credentials): Promise<void> {
  await page.fill('#username', username)
  await page.fill('#password', password)
  await page.click('#sign-in')
}

/** A browser of their own at `url`, which asks them to sign in first. */
export async function openSignedIn(
  url: string,
  credentials: Credentials,
  options?: { javaScriptEnabled?: boolean },
): Promise<Person> {
  const person = await newPerson(options)
  await person.page.goto(url)
  await signIn(person, credentials)
  await person.page.waitForURL(url)
  return person
}

/** An app as `openid-client`, unmodified, makes one. */
export async function discover(
  issuer: string,
  [id, secret]: readonly [string, string],
): Promise<client.Configuration> {
  const execute = [client.allowInsecureRequests, client.enableNonRepudiationChecks]
  return client.discovery(new URL(issuer), id, undefined, client.ClientSecretBasic(secret), { execute })
}

/** What came back to the app, and what it kept for it. */
export interface Answer {
  url: URL
  verifier: string
}

/** The app sends the person to the server; `meet` is for the pages that come. */
export async function askFor(
  config: client.Configuration,
  { page }: Person,
  parameters: Readonly<Record<string, string>> & { readonly redirect_uri: string; readonly scope: string },
  meet: () => Promise<void> = async () => {},
): Promise<Answer> {
  const verifier = client.randomPKCECodeVerifier()
  const code_challenge = await client.calculatePKCECodeChallenge(verifier)
  const asked = { ...parameters, code_challenge, code_challenge_method: 'S256' }
  await page.goto(client.buildAuthorizationUrl(config, asked).href)
  await meet()
  await page.waitForURL(`${parameters.redirect_uri}?**`)
  return { url: new URL(page.url()), verifier }
}

export async function exchange(config: client.Configuration, { url, verifier }: Answer) {
  return client.authorizationCodeGrant(config, url, { pkceCodeVerifier: verifier })
}

/** What somebody has of a user, for one process to judge. */
export interface Possessions {
  credentials: readonly [string, string]
  code: Answer
  refreshToken: string
  accessToken: string
  /** The cookies of their browser. */
  cookie: string
}

/** What is spent by asking: `error` of the code, and of the refresh token. */
export async function spend(
  server: Requests,
  { credentials, code, refreshToken }: Possessions,
): Promise<unknown[]> {
  const ask = async (form: Record<string, string>): Promise<unknown> => {
    const response = await server.post('/token', form, basic(...credentials))
    return ((await response.json()) as { error?: string }).error
  }
  return [
    await ask({
      grant_type: 'authorization_code',
      code: code.url.searchParams.get('code')!,
      redirect_uri: code.url.origin + code.url.pathname,
      code_verifier: code.verifier,
    }),
    await ask({ grant_type: 'refresh_token', refresh_token: refreshToken }),
  ]
}

/** What asking leaves as it is: statuses of userinfo and of the account, and whether introspection says active. */
export async function judge(
  server: Requests,
  { credentials, accessToken, cookie }: Possessions,
): Promise<unknown[]> {
  const userinfo = await server.get('/userinfo', bearer(accessToken))
  await userinfo.body?.cancel()
  const told = await server.post('/introspect', { token: accessToken }, basic(...credentials))
  const account = await server.get('/account', { cookie, accept: 'text/html' })
  await account.body?.cancel()
  return [userinfo.status, ((await told.json()) as { active?: boolean }).active, account.status]
}
