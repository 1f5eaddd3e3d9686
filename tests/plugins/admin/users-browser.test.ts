/** The administration of users in a browser: accessible in every state, by keyboard, without scripts. */
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { assertAccessible, reach } from '../../support/accessibility.ts'
import { complaintsOf, newBrowserContext, noBrowser } from '../../support/browser.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, getTokens, SEED } from '../../support/sign-in.ts'
import { ROOT } from './administrator.ts'

const LONG = { username: 'W'.repeat(256), name: `\u202E${'ع'.repeat(250)}`, roles: ['r'.repeat(64), 'staff'] }
const server = await startServer({}, { seed: { ...SEED, users: [...SEED.users, ROOT, LONG] } })
const { users } = server.server.oauth
await getTokens(server, { scope: 'openid profile read_books' })
const alice = (await users.find(ALICE.username))!.id

/** A page of an administrator who has signed in. */
async function open(path: string, javaScriptEnabled = true): Promise<{ page: Page; said: string[] }> {
  const page = await (await newBrowserContext({ javaScriptEnabled })).newPage()
  const said = complaintsOf(page)
  await page.goto(`${server.url}${path}`)
  await page.fill('#username', ROOT.username)
  await page.fill('#password', ROOT.password)
  await page.click('#sign-in')
  await page.waitForURL(`${server.url}${path}`)
  return { page, said }
}

describe.skipIf(noBrowser)('in a browser', () => {
  test('every page and state is accessible and within its policy', { timeout: 240_000 }, async () => {
    const { page, said } = await open('/admin/users')
    const pages: [string, string][] = [
      ['users', '/users'],
      ['search', '/users?search=nobody'],
      ['new', '/users/new'],
      ['user', `/user?id=${alice}&done=saved`],
      ['long', `/user?id=${(await users.find(LONG.username))!.id}`],
      ['self', `/user?id=${(await users.find(ROOT.username))!.id}`],
    ]
    for (const [name, path] of pages) {
      await page.goto(`${server.url}/admin${path}`)
      await assertAccessible(page, name)
    }
    await page.click('#make-password-link button')
    const link = (await page.textContent('#password-link'))!
    await assertAccessible(page, 'link')
    expect(said).toEqual([])
    await page.goto(`${server.url}/admin/user?id=${(await users.find(ROOT.username))!.id}`)
    await page.click('#disable button')
    expect(await page.textContent('#refused')).toContain('last administrator')
    await assertAccessible(page, 'refused')
    await page.goto(link)
    await assertAccessible(page, 'set password')
    await page.goto(`${server.url}/set-password`)
    await assertAccessible(page, 'no link')
    await page.goto(`${server.url}/set-password?done=yes`)
    await assertAccessible(page, 'password is set')
    // Chromium says so of every status from 400 on.
    expect(said).toEqual([expect.stringContaining('400 (Bad Request)'), expect.stringContaining('410 (Gone)')])
    await page.context().close()
  })

  test('by keyboard alone and without scripts a user is registered, sets a password and is disabled', { timeout: 120_000 }, async () => {
    const { page } = await open('/admin/users', false)
    const press = async (selector: string): Promise<void> => {
      await reach(page, selector)
      await page.keyboard.press('Enter')
    }
    await press('#new-user')
    await page.waitForURL('**/admin/users/new')
    await reach(page, '#username')
    await page.keyboard.type('by-keyboard')
    await press('#save')
    await page.waitForURL('**/admin/user/link?*')
    const theirs = await (await newBrowserContext({ javaScriptEnabled: false })).newPage()
    await theirs.goto((await page.textContent('#password-link'))!)
    await reach(theirs, '#password')
    await theirs.keyboard.type('typed on a keyboard')
    await theirs.keyboard.press('Enter')
    await theirs.waitForURL('**/set-password?done=yes')
    expect(await users.hasPassword('by-keyboard', 'typed on a keyboard')).toBe(true)
    await press('main a.button.primary')
    await page.waitForURL('**/admin/user?id=*')
    await press('#disable button')
    await page.waitForURL('**&done=disabled')
    expect((await users.find('by-keyboard'))?.disabled).toBe(true)
    await theirs.context().close()
    await page.context().close()
  })
}) // prettier-ignore
