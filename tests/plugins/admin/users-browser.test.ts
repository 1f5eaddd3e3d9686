/** The administration of users in a browser: accessible in every state, by keyboard, without scripts. */
import { describe, expect, test } from 'vitest'
import { assertAccessible } from '../../support/accessibility.ts'
import { noBrowser, textOf } from '../../support/browser.ts'
import { follow, pressEnter, type } from '../../support/keyboard.ts'
import { newPerson, openSignedIn } from '../../support/people.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, getTokens, SEED } from '../../support/sign-in.ts'
import { ROOT } from './administrator.ts'

const LONG = { username: 'W'.repeat(256), name: `\u202E${'ع'.repeat(250)}`, roles: ['r'.repeat(64), 'staff'] }
const server = await startServer({}, { seed: { ...SEED, users: [...SEED.users, ROOT, LONG] } })
const { users } = server.server.oauth
await getTokens(server, { scope: 'openid profile read_books' })
const alice = (await users.find(ALICE.username))!.id

const open = async (options?: { javaScriptEnabled: boolean }) =>
  openSignedIn(`${server.url}/admin/users`, ROOT, options)

describe.skipIf(noBrowser)('in a browser', () => {
  test('every page and state is accessible and within its policy', async () => {
    const { page, said } = await open()
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
    const link = await textOf(page, '#password-link')
    await assertAccessible(page, 'link')
    expect(said).toEqual([])
    await page.goto(`${server.url}/admin/user?id=${(await users.find(ROOT.username))!.id}`)
    await page.click('#disable button')
    expect(await textOf(page, '#refused')).toContain('last administrator')
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

  test('by keyboard alone and without scripts a user is registered, sets a password and is disabled', async () => {
    const { page } = await open({ javaScriptEnabled: false })
    await follow(page, '#new-user', '**/admin/users/new')
    await type(page, '#username', 'by-keyboard')
    await follow(page, '#save', '**/admin/user/link?*')
    const { page: theirs } = await newPerson({ javaScriptEnabled: false })
    await theirs.goto((await page.textContent('#password-link'))!)
    await type(theirs, '#password', 'typed on a keyboard')
    await pressEnter(theirs, '**/set-password?done=yes')
    expect(await users.hasPassword('by-keyboard', 'typed on a keyboard')).toBe(true)
    await follow(page, 'main a.button.primary', '**/admin/user?id=*')
    await follow(page, '#disable button', '**&done=disabled')
    expect((await users.find('by-keyboard'))?.disabled).toBe(true)
    await theirs.context().close()
    await page.context().close()
  })
}) // prettier-ignore
