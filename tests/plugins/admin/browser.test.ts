/** The administration in a browser: WCAG as far as a program can tell, light and dark, wide and narrow, by keyboard, without scripts. */
import { describe, expect, test } from 'vitest'
import { assertAccessible } from '../../support/accessibility.ts'
import { noBrowser, textOf } from '../../support/browser.ts'
import { follow, type } from '../../support/keyboard.ts'
import { openSignedIn } from '../../support/people.ts'
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

const open = async (options?: { javaScriptEnabled: boolean }) =>
  openSignedIn(`${server.url}/admin/clients`, ROOT, options)

describe.skipIf(noBrowser)('in a browser', () => {
  test('every page and state is accessible and within its policy', async () => {
    const { page, said } = await open()
    await assertAccessible(page, 'clients')
    await page.goto(`${server.url}/admin/clients/new?type=app`)
    await assertAccessible(page, 'new')
    await page.fill('#redirect_uris', `${URI}\n/callback`)
    await page.fill('#client_name', 'Typed')
    await page.click('#save')
    await page.waitForSelector('[role=alert] a')
    await expect.poll(async () => page.inputValue('#redirect_uris')).toBe(`${URI}\n/callback`)
    await assertAccessible(page, 'new-refused')
    // The form is long: what is wrong is a step away.
    await page.click('[role=alert] a')
    await expect.poll(() => new URL(page.url()).hash).toBe('#redirect_uris')
    expect(await page.locator('[role=alert] a').allTextContents()).toEqual(['Redirect URIs'])
    // Chromium says so of every status from 400 on.
    expect(said.splice(0)).toEqual([expect.stringContaining('400 (Bad Request)')])
    await page.goto(`${server.url}/admin/client?client_id=photo-prints&saved=yes`)
    await assertAccessible(page, 'client')
    await page.goto(`${server.url}/admin/client?client_id=${'w'.repeat(200)}`)
    await assertAccessible(page, 'client-long')
    await page.selectOption('#overlap', '3600')
    await page.click('#rotate')
    expect(await textOf(page, '#client-secret')).toMatch(/^lks_/)
    await assertAccessible(page, 'secret')
    expect(said).toEqual([])
    await page.context().close()
  })

  test('without scripts and by keyboard alone a client is registered', async () => {
    const { page } = await open({ javaScriptEnabled: false })
    await follow(page, '#new-client', '**/admin/clients/new')
    await follow(page, '.tiles a[href$="service"]', '**/admin/clients/new?type=service')
    await type(page, '#client_name', 'By keyboard')
    await type(page, '#scope', 'read_books')
    await follow(page, '#save', '**/admin/client/secret?*')
    const [clientId, secret] = [
      await page.textContent('#client-id'),
      await page.textContent('#client-secret'),
    ]
    expect(await clients.hasSecret(clientId!, secret!)).toBe(true)
    await page.reload()
    expect(await page.content()).not.toContain(secret!)
    await page.context().close()
  })

  test('a new secret is shown in one line where there is room, and can be copied', async () => {
    const { page, said } = await open()
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto(`${server.url}/admin/client?client_id=${'w'.repeat(200)}`)
    await page.click('#rotate')
    const text = await textOf(page, '#client-secret')
    /** How many lines it takes, and whether all of it is on the page. */
    const laidOut = async (width: number) => {
      await page.setViewportSize({ width, height: 720 })
      return page.evaluate<[number, boolean]>(`(() => {
        const range = document.createRange()
        range.selectNodeContents(document.getElementById('client-secret'))
        const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)))
        const { left, right } = range.getBoundingClientRect()
        return [lines.size, left >= 0 && right <= innerWidth]
      })()`)
    }
    expect(await laidOut(1280)).toEqual([1, true])
    expect(await laidOut(768)).toEqual([1, true])
    const [lines, isSeen] = await laidOut(320)
    expect([lines <= 3, isSeen]).toEqual([true, true])
    const read = async () => page.evaluate<string>('navigator.clipboard.readText()')
    await page.getByRole('button', { name: 'Copy the client secret' }).click()
    await page.getByText('Copied.').waitFor()
    expect(await read()).toBe(text)
    await page.getByRole('button', { name: 'Copy the settings' }).click()
    await expect.poll(read).toContain(`OIDC_CLIENT_SECRET=${text}`)
    // Where a browser gives no leave, it is selected.
    await page.evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error('no'))`)
    await page.getByRole('button', { name: 'Copy the client secret' }).click()
    await page.getByText('Selected: copy it by Ctrl+C.').waitFor()
    expect(await page.evaluate('getSelection().toString()')).toBe(text)
    expect(said).toEqual([])
    await page.context().close()
  })

  test('where there is room the sections stand beside the page, those of a kind under a name', async () => {
    const { page } = await open({ javaScriptEnabled: false })
    await page.setViewportSize({ width: 1280, height: 900 })
    const [link, heading, group] = [
      page.locator('nav.area a[href$="/admin/clients"]'),
      page.locator('main h1'),
      page.locator('nav.area .group', { hasText: 'People' }),
    ]
    const beside = async () => (await link.boundingBox())!.y > (await heading.boundingBox())!.y
    expect([await beside(), await group.isVisible()]).toEqual([true, true])
    const ordered = await page.locator('nav.area li').allTextContents()
    expect(ordered.map((text) => text.trim())).toEqual(expect.arrayContaining(['Apps', 'People', 'Server']))
    expect(ordered.findIndex((text) => text.includes('Registration'))).toBeLessThan(
      ordered.findIndex((text) => text.includes('People')),
    )
    await page.setViewportSize({ width: 900, height: 900 })
    expect([await beside(), await group.isVisible()]).toEqual([false, false])
    await page.context().close()
  })

  test('without scripts, the menu takes a line of a small screen until it is opened', async () => {
    const { page } = await open({ javaScriptEnabled: false })
    const [menu, scopes] = [page.locator('nav.area summary'), page.locator('nav.area a[href$="/scopes"]')]
    const seen = async () => [await menu.isVisible(), await scopes.isVisible()]
    expect(await seen()).toEqual([false, true])
    await page.setViewportSize({ width: 320, height: 568 })
    expect(await seen()).toEqual([true, false])
    await menu.click()
    expect(await seen()).toEqual([true, true])
    await scopes.click()
    await page.waitForURL('**/admin/scopes')
    expect(await seen()).toEqual([true, false])
    await page.context().close()
  })

  test('without scripts, one click selects the whole secret', async () => {
    const { page } = await open({ javaScriptEnabled: false })
    await page.goto(`${server.url}/admin/client?client_id=${'w'.repeat(200)}`)
    await page.click('#rotate')
    await page.waitForURL('**/admin/client/secret?*')
    const selects = await page.evaluate(
      `getComputedStyle(document.getElementById('client-secret')).userSelect`,
    )
    expect(selects).toBe('all')
    expect(await page.getByRole('button', { name: /^Copy/ }).count()).toBe(0)
    await page.context().close()
  })
})
