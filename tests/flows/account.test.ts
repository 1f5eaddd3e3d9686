/** A user who looks after their own account in a browser, and what becomes of the apps and browsers that had it. */
import { describe, expect, test } from 'vitest'
import { noBrowser, textOf } from '../support/browser.ts'
import { newPerson, signIn } from '../support/people.ts'
import { startServer } from '../support/server.ts'
import {
  ALICE,
  answerOf,
  authorizationUrl,
  exchange,
  goThrough,
  refresh,
  SEED,
  type Tokens,
} from '../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../support/user-agent.ts'

const WANTED = 'a new password of some length'
const server = await startServer({}, { seed: SEED })

/** Tokens that an app got in this browser. */
async function tokensIn(agent: UserAgent, password = ALICE.password): Promise<Tokens> {
  const user = { username: ALICE.username, password }
  const answer = answerOf(await goThrough(agent, await agent.get(authorizationUrl(server)), user))
  return (await (await exchange(server, answer.get('code')!)).json()) as Tokens
}

async function isAlive({ refresh_token: token }: Tokens): Promise<boolean> {
  return (await refresh(server, token)).status === 200
}

describe.skipIf(noBrowser)('in a browser', () => {
  test('from the home page to an app sent away, another browser signed out, and a new password', async () => {
    const alice = await newPerson()
    const { page } = alice
    await page.goto(`${server.url}/sign-in`)
    await signIn(alice, ALICE)
    await page.click('a[href="/account"]')
    await page.click('nav a[href="/account/apps"]')
    expect(await textOf(page, 'main')).toContain('No app has access')

    const elsewhere = createUserAgent(server.url, { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0' })
    const sentAway = await tokensIn(elsewhere)
    await page.reload()
    expect(await page.textContent('main h2')).toBe('web')
    await page.click('#revoke-0 button')
    await page.waitForURL('**/account/apps?done=one&app=*')
    expect(await isAlive(sentAway)).toBe(false)

    const signedOut = await tokensIn(elsewhere)
    await page.click('nav a[href="/account/sessions"]')
    expect(await textOf(page, '.rows li:nth-child(2) h2')).toBe('Firefox on Linux')
    await page.click('#end-1 button')
    await page.waitForURL('**/account/sessions?done=one')
    expect((await elsewhere.get(`${server.url}/account`)).url).toContain('/sign-in?')
    expect(await isAlive(signedOut)).toBe(false)

    const ended = await tokensIn(elsewhere)
    await page.click('nav a[href="/account/security"]')
    await page.click('#change-password-link')
    await page.fill('#current_password', ALICE.password)
    await page.fill('#new_password', WANTED)
    await page.click('#save')
    await page.waitForURL('**/account/password?saved=yes')
    expect((await elsewhere.get(`${server.url}/account`)).url).toContain('/sign-in?')
    expect(await isAlive(ended)).toBe(false)

    await page.click('nav a[href="/account/activity"]')
    await page.waitForURL('**/account/activity')
    const told = await page.locator('tbody th').allInnerTexts()
    expect(told.slice(0, 2)).toEqual(['You signed in', 'Your password was changed: every session and all access of apps ended'])
    for (const one of ['The access of an app was taken back: web', 'A browser was signed out']) expect(told).toContain(one)

    const stranger = await newPerson()
    await stranger.page.goto(`${server.url}/account`)
    await signIn(stranger, ALICE)
    await stranger.page.waitForSelector('#login-error')
    await signIn(stranger, { ...ALICE, password: WANTED })
    await stranger.page.waitForURL('**/account')
    expect(await isAlive(await tokensIn(elsewhere, WANTED))).toBe(true)
    for (const { page } of [alice, stranger]) await page.context().close()
  }) // prettier-ignore
})
