/**
 * The pages of an approval in a browser: as wide as a telephone, without scripts, and WCAG 2.2 AA as far as a program can tell.
 * @needs latchkey-ciba
 */
import { expect, test } from 'vitest'
import { assertAccessible } from '../../../support/accessibility.ts'
import { complaintsOf, newBrowserContext, noBrowser, textOf } from '../../../support/browser.ts'
import { ask, CIBA_SEED, CIBA_SETTINGS, pageOf, poll } from '../../../support/ciba.ts'
import { startServer } from '../../../support/server.ts'
import { ALICE } from '../../../support/sign-in.ts'

const server = await startServer(CIBA_SETTINGS, { seed: CIBA_SEED })
const narrow = { width: 320, height: 700 }

test.skipIf(noBrowser).each([true, false])(
  'accessible and within their policy, at 320 pixels, with scripts: %s',
  async (javaScriptEnabled) => {
    const context = await newBrowserContext({ viewport: narrow, javaScriptEnabled })
    const page = await context.newPage()
    const said = complaintsOf(page)
    const [asked, second] = [
      await ask(server, {
        binding_message: 'Pay 100.00 € to Book-Shop W4SCT',
        scope: 'openid email read_books',
      }),
      await ask(server, { binding_message: 'x'.repeat(100) }),
    ]
    const fits = async (): Promise<void> => {
      await page.waitForLoadState()
      await page.setViewportSize(narrow)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(narrow.width)
    }

    await page.goto(pageOf(server, asked))
    await page.fill('#username', ALICE.username)
    await page.fill('#password', ALICE.password)
    await page.click('#sign-in')
    expect(await textOf(page, '#binding-message')).toBe('Pay 100.00 € to Book-Shop W4SCT')
    await fits()
    if (javaScriptEnabled) await assertAccessible(page, 'the approval')
    await page.goto(pageOf(server, second))
    await fits()
    await page.goto(`${server.url}/account`)
    expect(await page.locator('#approvals li').count()).toBe(2)
    await fits()
    if (javaScriptEnabled) await assertAccessible(page, 'the overview')
    await page.goto(`${server.url}/account/security`)
    await page.fill('#approval-code', 'Pflaume')
    await page.click('#approval-code-form button')
    expect(await textOf(page, '#approval-code-done')).toContain('The code is set.')
    await fits()
    if (javaScriptEnabled) await assertAccessible(page, 'security')
    await page.click('#remove-approval-code')

    await page.goto(pageOf(server, asked))
    await page.click('#allow')
    await page.waitForURL('**/approve/allowed')
    if (javaScriptEnabled) await assertAccessible(page, 'allowed')
    expect(await poll(server, asked)).toMatchObject({ status: 200 })
    await page.goto(pageOf(server, second))
    await page.click('#deny')
    await page.waitForURL('**/approve/denied')
    expect(await poll(server, second)).toMatchObject({ error: 'access_denied' })
    await page.goBack()
    expect(await page.textContent('h1')).toBe('This step is done')
    await page.goto(pageOf(server, second))
    expect(await page.textContent('h1')).toBe('Nothing waits for you here')
    // Of pages that are over the browser says so itself.
    expect(said.filter((one) => !/status of 4(?:00|10)/.test(one))).toEqual([])
  },
)
