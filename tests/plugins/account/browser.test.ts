/** The account in a browser: WCAG as far as a program can tell, light and dark, wide and narrow, by keyboard, without scripts. */
import { describe, expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { assertAccessible } from '../../support/accessibility.ts'
import { noBrowser } from '../../support/browser.ts'
import { follow, pressEnter, type } from '../../support/keyboard.ts'
import { openSignedIn } from '../../support/people.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, getTokens, SEED, WEB } from '../../support/sign-in.ts'
import { signedIn } from './owner.ts'

const LONG = { ...WEB, client_id: 'w'.repeat(200), client_name: 'W'.repeat(120) }
const server = await startServer({}, { seed: { ...SEED, clients: [WEB, LONG] } })
const { users, consents, directory } = kernelOf(server.server)
const { id } = (await users.find('alice'))!
await getTokens(server, { scope: 'openid profile email offline_access' }, await signedIn(server))
for (const clientId of [LONG.client_id]) {
  const client = (await directory.findClient(clientId))!
  await consents.remember(id, { client, scopes: new Set(['read_books', 's'.repeat(120)]), resources: [], parameters: {} }) // prettier-ignore
}

const open = async (options?: { javaScriptEnabled: boolean }) =>
  openSignedIn(`${server.url}/account`, ALICE, options)

describe.skipIf(noBrowser)('in a browser', () => {
  test('the links of the area begin where the page does', async () => {
    const { page } = await open()
    for (const width of [1280, 320]) {
      await page.setViewportSize({ width, height: 720 })
      const edges = await page.evaluate(`['.wordmark', 'nav.area a', 'main'].map((one) => {
        const found = document.querySelector(one)
        return Math.round(found.getBoundingClientRect().left + (one === 'main' ? 0 : parseFloat(getComputedStyle(found).paddingLeft)))
      })`)
      expect(new Set(edges as number[]).size).toBe(1)
    }
    await page.context().close()
  })

  test('every page and state is accessible and within its policy', async () => {
    await signedIn(server)
    const { page, said } = await open()
    for (const path of ['', '/profile?saved=yes', '/email', '/security', '/password?saved=yes', '/sessions?done=one', '/apps?done=one', '/activity']) {
      await page.goto(`${server.url}/account${path}`)
      await assertAccessible(page, path)
    }
    await page.goto(`${server.url}/account/profile`)
    await page.fill('#birthdate', 'yesterday')
    await page.fill('#nickname', 'Typed')
    await page.click('#save')
    expect(await page.inputValue('#nickname')).toBe('Typed')
    await assertAccessible(page, 'profile, refused')
    await page.goto(`${server.url}/account/password`)
    expect(await page.isVisible('input[name=username]')).toBe(false)
    await page.fill('#current_password', 'not this one')
    await page.fill('#new_password', 'a new password of some length')
    await page.click('#save')
    await page.waitForSelector('#current_password-error')
    await assertAccessible(page, 'password, refused')
    // Chromium says so of every status from 400 on.
    expect(said.filter((one) => !one.includes('400 (Bad Request)'))).toEqual([])
    await page.context().close()
  }) // prettier-ignore

  test('without scripts and by keyboard alone a profile is changed and an app sent away', async () => {
    const { page } = await open({ javaScriptEnabled: false })
    await follow(page, 'nav a[href$="/profile"]', '**/account/profile')
    await type(page, '#nickname', 'By keyboard')
    await pressEnter(page, '**/account/profile?saved=yes')
    expect((await users.find('alice'))!.claims['nickname']).toBe('By keyboard')
    await page.goto(`${server.url}/account/apps`)
    const before = (await consents.list(id)).length
    await follow(page, '#revoke-0 button', '**/account/apps?done=one&app=*')
    expect(await consents.list(id)).toHaveLength(before - 1)
    await page.context().close()
  }) // prettier-ignore
})
