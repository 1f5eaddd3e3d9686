/**
 * An administrator's day in a browser, at two processes of one server: the first link, an app and a service that both
 * work, a new secret beside the old one, a new user and their end, and all of it in the audit log.
 */
import * as client from 'openid-client'
import { describe, expect, test } from 'vitest'
import { assertAccessible } from '../support/accessibility.ts'
import {
  becomeAdministrator,
  disableDora,
  DORA,
  registerApp,
  registerDora,
  registerScope,
  registerService,
  ROOT,
  rotate,
} from '../support/administration.ts'
import { spawnBeside } from '../support/beside.ts'
import { noBrowser } from '../support/browser.ts'
import {
  askFor,
  discover,
  exchange,
  judge,
  newPerson,
  openCallback,
  type Person,
  type Possessions,
  signIn,
  spend,
} from '../support/people.ts'
import { runCommandHere } from '../support/command-here.ts'
import { spawnServer } from '../support/process.ts'
import { basic, type Requests } from '../support/requests.ts'
import { statusOf } from '../support/service.ts'

const FOR_DORA = { redirect_uri: await openCallback(), scope: 'openid profile read_books' }
const often = { interval: 25 }

const one = await spawnServer()
const two = await spawnBeside(one.settings, one.database)
const both = [one, two] as const

async function setPassword({ page }: Person, link: string): Promise<void> {
  await page.goto(link)
  await assertAccessible(page, 'set password')
  await page.fill('#password', DORA.password)
  await page.click('#set-password button.primary')
  await page.waitForURL('**/set-password?done=yes')
  await assertAccessible(page, 'password set')
}

/** Dora meets the app for the first time. */
async function meetApp(dora: Person, config: client.Configuration): Promise<void> {
  const answer = await askFor(config, dora, FOR_DORA, async () => {
    await assertAccessible(dora.page, 'sign-in')
    await signIn(dora, DORA)
    await dora.page.waitForSelector('#consent')
    await assertAccessible(dora.page, 'consent')
    await dora.page.click('#allow')
  })
  const tokens = await exchange(config, answer)
  expect(tokens.scope).toBe('openid profile read_books')
  const told = await client.fetchUserInfo(config, tokens.access_token, tokens.claims()!.sub)
  expect(told).toMatchObject({ name: 'Dora Example', preferred_username: 'dora' })
}

/** Whether each process takes this secret. */
async function taken(credentials: [string, string]): Promise<number[]> {
  const asked = both.map(async ({ post }: Requests) =>
    statusOf(post('/introspect', { token: 'nobody' }, basic(...credentials))),
  )
  return Promise.all(asked)
}

async function possess(dora: Person, config: client.Configuration, credentials: [string, string]): Promise<Possessions> {
  const tokens = await exchange(config, await askFor(config, dora, FOR_DORA))
  const code = await askFor(config, dora, FOR_DORA)
  const cookies = await dora.page.context().cookies(one.url)
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  return { credentials, code, cookie, refreshToken: tokens.refresh_token!, accessToken: tokens.access_token }
} // prettier-ignore

/** What the log says on its first page, once it says it. */
async function findIn({ page }: Person, query: Record<string, string>, ...words: string[]): Promise<void> {
  const look = async (): Promise<string> => {
    await page.goto(`${one.url}/admin/audit?${new URLSearchParams(query).toString()}`)
    return (await page.textContent('main'))!
  }
  for (const one of words) await expect.poll(look, often).toContain(one)
}

describe.skipIf(noBrowser)('in a browser', () => {
  test('from the first link to what the audit log knows of it', async () => {
    const root = await newPerson()
    const { stdout } = await runCommandHere(['setup-link'], one.settings)
    await becomeAdministrator(root, stdout.trim())
    await registerScope(root, 'read_books')
    const app = await registerApp(root, FOR_DORA.redirect_uri)
    const service = await registerService(root)
    const dora = await newPerson()
    await setPassword(dora, await registerDora(root))

    // Both processes know them, and both work with a library that knows nothing of us.
    await expect.poll(() => taken(app), often).toEqual([200, 200])
    const config = await discover(one.url, app)
    await meetApp(dora, config)
    const granted = await client.clientCredentialsGrant(await discover(one.url, service))
    expect(granted.scope).toBe('read_books')

    // A new secret: beside the old one until its hour has passed, then alone.
    const next: [string, string] = [app[0], await rotate(root, app[0])]
    await expect.poll(() => taken(next), often).toEqual([200, 200])
    expect(await taken(app)).toEqual([200, 200])
    await one.database.query(`update client_secrets set expires_at = now() where expires_at is not null`)
    await root.page.goto(`${one.url}/admin/client?client_id=${app[0]}`)
    await root.page.fill('#client_name', 'Photo Prints & Frames')
    await root.page.click('#save')
    await root.page.waitForURL('**saved=yes')
    await expect.poll(() => taken(app), often).toEqual([401, 401])
    expect(await taken(next)).toEqual([200, 200])

    // Dora is disabled: what is hers ends at both processes.
    const newConfig = await discover(one.url, next)
    const held = [await possess(dora, newConfig, next), await possess(dora, newConfig, next)]
    for (const server of both) for (const each of held) expect(await judge(server, each)).toEqual([200, true, 200])
    const plain = await newPerson({ javaScriptEnabled: false })
    await disableDora(plain, one.url)
    const since = performance.now()
    for (const [index, server] of both.entries())
      expect(await spend(server, held[index]!)).toEqual(['invalid_grant', 'invalid_grant'])
    for (const server of both) await expect.poll(() => judge(server, held[0]!), often).toEqual([401, false, 303])
    process.stdout.write(`a disabled user is refused everywhere after ${Math.round(performance.now() - since)} ms\n`)
    await dora.page.goto(`${one.url}/account`)
    await signIn(dora, DORA)
    await dora.page.waitForSelector('#login-error')
    await assertAccessible(dora.page, 'refused sign-in')

    // All of it is found, by whom and by what, and taken along; no secret is.
    await findIn(plain, { user: DORA.username }, 'User disabled', 'Password changed', 'Password link made', 'User registered')
    await findIn(plain, { client_id: app[0] }, 'Client registered', 'Client secret replaced', 'Client changed', 'Consent given', 'Token issued')
    await findIn(root, { type: 'user.disabled' }, 'root', 'dora')
    await assertAccessible(root.page, 'audit log')
    const file = await root.page.request.get(new URL((await root.page.getAttribute('#jsonl', 'href'))!, one.url).href)
    const [event] = (await file.text()).trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(event).toMatchObject({ type: 'user.disabled', actor: { kind: 'user' }, address: '127.0.0.1' })
    const all = await (await root.page.request.get(`${one.url}/admin/audit/export?format=csv`)).text()
    expect(all.split('\r\n').length).toBeGreaterThan(15)
    for (const secret of [app[1], next[1], service[1], ROOT.password, DORA.password]) expect(all).not.toContain(secret)
    expect(root.said).toEqual([])
    for (const { page } of [root, dora, plain]) await page.context().close()
  }) // prettier-ignore
})
