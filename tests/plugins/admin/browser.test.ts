/** The administration in a browser: WCAG as far as a program can tell, light and dark, wide and narrow, by keyboard, without scripts. */
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { assertAccessible } from '../../support/accessibility.ts'
import { complaintsOf, newBrowserContext, noBrowser } from '../../support/browser.ts'
import { startServer } from '../../support/server.ts'
import { ROOT } from './administrator.ts'

const URI = 'https://prints.example/a/long/address/of/the/callback'
const server = await startServer({}, { seed: { users: [ROOT] } })
const { clients } = server.server.oauth
await clients.create({
  client_id: 'photo-prints',
  client_name: 'Photo Prints',
  redirect_uris: [URI],
  contacts: ['a@b.example'],
})
await clients.create({ client_id: 'w'.repeat(200), client_name: 'W'.repeat(120), scope: ['read_books'] }) // prettier-ignore

/** A page of an administrator who has signed in. */
async function open(javaScriptEnabled = true): Promise<{ page: Page; said: string[] }> {
  const page = await (await newBrowserContext({ javaScriptEnabled })).newPage()
  const said = complaintsOf(page)
  await page.goto(`${server.url}/admin/clients`)
  await page.fill('#username', ROOT.username)
  await page.fill('#password', ROOT.password)
  await page.click('#sign-in')
  await page.waitForURL(`${server.url}/admin/clients`)
  return { page, said }
}

describe.skipIf(noBrowser)('in a browser', () => {
  test('every page and state is accessible and within its policy', { timeout: 120_000 }, async () => {
    const { page, said } = await open()
    await assertAccessible(page, 'clients')
    await page.goto(`${server.url}/admin/clients/new?type=app`)
    await assertAccessible(page, 'new')
    await page.fill('#redirect_uris', `${URI}\n/callback`)
    await page.fill('#client_name', 'Typed')
    await page.click('#save')
    expect(await page.inputValue('#redirect_uris')).toBe(`${URI}\n/callback`)
    await assertAccessible(page, 'new-refused')
    // Chromium says so of every status from 400 on.
    expect(said.splice(0)).toEqual([expect.stringContaining('400 (Bad Request)')])
    await page.goto(`${server.url}/admin/client?client_id=photo-prints&saved=yes`)
    await assertAccessible(page, 'client')
    await page.goto(`${server.url}/admin/client?client_id=${'w'.repeat(200)}`)
    await assertAccessible(page, 'client-long')
    await page.selectOption('#overlap', '3600')
    await page.click('#rotate')
    expect(await page.textContent('#client-secret')).toMatch(/^lks_/)
    await assertAccessible(page, 'secret')
    expect(said).toEqual([])
    await page.context().close()
  })

  test('without scripts and by keyboard alone a client is registered', { timeout: 60_000 }, async () => {
    const { page } = await open(false)
    const reach = async (selector: string): Promise<void> => {
      for (let tabs = 0; tabs < 60; tabs++) {
        await page.keyboard.press('Tab')
        if ((await page.locator(`${selector}:focus`).count()) === 1) return
      }
      throw new Error(`${selector} is not reached by keyboard`)
    }
    await reach('#new-client')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/admin/clients/new')
    await reach('.tiles a[href$="service"]')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/admin/clients/new?type=service')
    await reach('#client_name')
    await page.keyboard.type('By keyboard')
    await reach('#scope')
    await page.keyboard.type('read_books')
    await reach('#save')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/admin/client/secret?*')
    const [clientId, secret] = [
      await page.textContent('#client-id'),
      await page.textContent('#client-secret'),
    ]
    expect(await clients.hasSecret(clientId!, secret!)).toBe(true)
    await page.reload()
    expect(await page.content()).not.toContain(secret!)
    await page.context().close()
  })
})
