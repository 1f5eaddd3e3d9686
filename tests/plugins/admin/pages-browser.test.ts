/** Dashboard, scopes, resources, keys and the audit log in a browser: accessible in every state, by keyboard, without scripts. */
import { describe, expect, test } from 'vitest'
import { assertAccessible } from '../../support/accessibility.ts'
import { noBrowser, textOf } from '../../support/browser.ts'
import { follow, pressEnter, reach, type } from '../../support/keyboard.ts'
import { openSignedIn } from '../../support/people.ts'
import { startServer } from '../../support/server.ts'
import { getTokens, SEED } from '../../support/sign-in.ts'
import { ROOT } from './administrator.ts'

const API = `https://api.example/${'long/'.repeat(40)}`
const seed = {
  ...SEED,
  users: [...SEED.users, ROOT, { username: 'W'.repeat(256) }],
  resources: [{ resource: API, name: 'W'.repeat(200), scopes: ['w'.repeat(200)] }],
  trusted_issuers: [{ issuer: 'https://platform.example', jwks_uri: `https://platform.example/${'w'.repeat(200)}`, clients: ['web'] }], // prettier-ignore
}
const server = await startServer({}, { seed })
const { oauth } = server.server
await getTokens(server, { scope: 'openid read_books' })
await oauth.clients.update('web', {
  client_name: 'W'.repeat(200),
  tos_uri: `https://app.example/${'w'.repeat(500)}`,
})
await server.database.query(`insert into activity (hour, type, writer, count)
  select date_trunc('hour', now()) - make_interval(hours => n), type, gen_random_uuid(), n * 1000 + 1
  from generate_series(0, 20) n, unnest(array['user.signed_in', 'user.sign_in_failed', 'token.issued']) type`)

const open = async (options?: { javaScriptEnabled: boolean }) =>
  openSignedIn(`${server.url}/admin`, ROOT, options)

describe.skipIf(noBrowser)('in a browser', () => {
  test('every page and state is accessible and within its policy', async () => {
    const { page, said } = await open()
    const ofResource = new URLSearchParams({ id: API }).toString()
    const paths = ['', '/roles', '/roles/new', '/role?name=admin&done=added', '/scopes', '/scopes/new', '/scope?id=read_books&saved=yes', '/resources', `/resource?${ofResource}`, '/trusted-issuers', '/trusted-issuers/new', '/trusted-issuer?id=https://platform.example&saved=yes', '/keys', '/mail', '/mail?sent=yes', '/client?client_id=web', '/client/authorizations?client_id=web', '/audit', '/audit?user=alice&before=00000000-0000-0000-0000-000000000000'] // prettier-ignore
    for (const path of paths) {
      await page.goto(`${server.url}/admin${path}`)
      await assertAccessible(page, path)
    }
    expect(said).toEqual([])
    await page.goto(`${server.url}/admin/audit?user=nobody`)
    await assertAccessible(page, 'audit refused')
    await page.goto(`${server.url}/admin/resource?${ofResource}`)
    await page.fill('#access_token_lifetime', 'long')
    await page.click('#save')
    expect(await textOf(page, '#access_token_lifetime-error')).toContain('whole number')
    await assertAccessible(page, 'resource refused')
    // Chromium says so of every status from 400 on.
    expect(said).toEqual(
      Array.from({ length: 2 }, () => expect.stringContaining('400 (Bad Request)') as string),
    )
    await page.context().close()
  })

  test('where one reads from right to left, the latest hour is on the left, and the hour of an event behind its day', async () => {
    const { page } = await open()
    for (const [language, turned] of [['en', false], ['ar-XB', true]] as const) {
      await page.setExtraHTTPHeaders({ 'accept-language': language })
      await page.goto(`${server.url}/admin`)
      const [first, last, now, day, hour] = await page.evaluate<number[]>(`(() => {
        const bars = [...document.querySelectorAll('.band rect')].filter((one, _at, all) => one.parentElement === all[0].parentElement)
        const written = document.querySelector('.latest time').firstChild
        const part = (from, to) => { const range = new Range(); range.setStart(written, from); range.setEnd(written, to); return range }
        return [bars[0], bars.at(-1), document.querySelector('.axis span'), part(0, 2), part(6, 8)].map((one) => one.getBoundingClientRect().x)
      })()`)
      expect([language, first! > last!, first! > now!, day! < hour!]).toEqual([language, turned, turned, true])
    }
    await page.context().close()
  }) // prettier-ignore

  test('where one reads from right to left, code and addresses do not turn', async () => {
    const { page } = await open()
    await page.setExtraHTTPHeaders({ 'accept-language': 'ar-XB' })
    await page.goto(`${server.url}/admin/client?client_id=web`)
    await page.evaluate(`for (const one of document.querySelectorAll('details')) one.open = true`)
    const read = await page.evaluate(`['pre', '#tos_uri', '#redirect_uris'].map((one) => {
      const { direction, unicodeBidi } = getComputedStyle(document.querySelector(one))
      return direction === 'ltr' || unicodeBidi === 'plaintext'
    })`)
    expect(read).toEqual([true, true, true])
    await page.context().close()
  })

  test('on a small screen a number stays on one line', async () => {
    const { page } = await open()
    await page.setViewportSize({ width: 320, height: 720 })
    await page.evaluate(`for (const one of document.querySelectorAll('details')) one.open = true`)
    const lines = await page.evaluate(`[...document.querySelectorAll('.hours td')].map((one) => {
      const range = new Range()
      range.selectNodeContents(one)
      return range.getClientRects().length
    })`)
    expect(new Set(lines as number[])).toEqual(new Set([1]))
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
    await page.context().close()
  })

  test('without scripts and by keyboard alone a key is replaced, and found in the audit log', async () => {
    const { page } = await open({ javaScriptEnabled: false })
    await follow(page, 'nav.area a[href="/admin/keys"]', '**/admin/keys')
    await follow(page, '#rotate-ES256 button', '**/admin/keys?rotated=ES256')
    const kid = oauth.keys.keys().findLast(({ algorithm }) => algorithm === 'ES256')!.kid
    expect(await page.textContent('main')).toContain(kid)
    await follow(page, 'nav.area a[href="/admin/audit"]', '**/admin/audit')
    await type(page, '#user', ROOT.username)
    await pressEnter(page, '**/admin/audit?*user=root*')
    await reach(page, '.events tbody tr:first-child summary')
    await page.keyboard.press('Enter')
    expect(await page.locator('.events tbody tr:first-child details[open]').textContent()).toContain(kid)
    await page.context().close()
  }) // prettier-ignore
})
