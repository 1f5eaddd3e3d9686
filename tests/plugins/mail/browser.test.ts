/** Mails of a development server in a browser: accessible, and their links can be followed. */
import { describe, expect, test } from 'vitest'
import { assertAccessible } from '../../support/accessibility.ts'
import { complaintsOf, newBrowserContext, noBrowser } from '../../support/browser.ts'
import { startServer } from '../../support/server.ts'

const server = await startServer()

describe.skipIf(noBrowser)('in a browser', () => {
  test('every page is accessible, and a link leads where the mail says', async () => {
    const context = await newBrowserContext()
    const page = await context.newPage()
    const said = complaintsOf(page)
    await page.goto(`${server.url}/dev/mail`)
    await assertAccessible(page, 'none')
    await server.server.letters.send(`${'a'.repeat(60)}@${'b'.repeat(100)}.example`, {
      subject: `Your link ${'w'.repeat(100)}`,
      paragraphs: ['Somebody asked for it.', 'w'.repeat(300)],
      button: { text: 'Go on', href: `${server.url}/?token=${'x'.repeat(200)}` },
      otherwise: 'If this was not you, there is nothing for you to do.',
    })
    await page.goto(`${server.url}/dev/mail`)
    await assertAccessible(page, 'list')
    await page.click('#mails a')
    await assertAccessible(page, 'one')
    await page.goto(`${page.url()}?format=html`)
    await page.click('.button')
    await page.waitForURL(/\?token=x+$/)
    expect(said).toEqual([])
    await context.close()
  })
})
