/** What forms do in a browser: with and without JavaScript, by keyboard, and on the way to a client. */
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { noBrowser } from '../../support/browser.ts'
import { openPage, openStillPage } from './opened.ts'
import { samples } from './samples.ts'
import { startPages } from './server.ts'

const server = await startPages()
const login = server.address({ name: 'login', state: 'plain' })

/** Everything of a page that can be filled in or pressed, less what a script adds. */
const CONTROLS = `[...document.querySelectorAll('form, input, button:not([aria-label$=" password"])')].map(
  (one) => [one.tagName, one.id, one.getAttribute('name'), one.getAttribute('type')].join(' ')
)`

/** Whether something else lies over the middle of what has the focus. */
const COVERED = `(() => {
  const focused = document.activeElement
  const { x, y, width, height } = focused.getBoundingClientRect()
  const top = document.elementFromPoint(x + width / 2, y + height / 2)
  return !focused.contains(top)
})()`

/** The focused element: its id, or its text. */
function focused(page: Page): Promise<string> {
  return page.evaluate<string>('document.activeElement.id || document.activeElement.textContent')
}

describe.skipIf(noBrowser)('in a browser', () => {
  test('forms are the same without JavaScript', async () => {
    const [scripted, plain] = [await openStillPage(), await openPage({ javaScriptEnabled: false })]
    for (const sample of samples) {
      for (const { page } of [scripted, plain]) await page.goto(server.address(sample))
      const expected = await scripted.page.evaluate(CONTROLS)
      expect(await plain.page.evaluate(CONTROLS)).toEqual(expected)
    }
  })

  test.for([true, false])(
    'signing in leads to the client, with JavaScript: %s',
    async (javaScriptEnabled) => {
      const { page, said } = await openPage({ javaScriptEnabled })
      await page.goto(login)
      await page.fill('#username', 'ada')
      await page.fill('#password', 'correct & horse')
      if (javaScriptEnabled) await page.getByRole('button', { name: 'Show password' }).click()
      await page.click('#sign-in')
      await page.getByText('landed').waitFor()
      expect(new URL(page.url()).hostname).toBe('localhost')
      expect(server.sent.pop()).toBe('csrf_token=token-of-the-form&username=ada&password=correct+%26+horse')
      expect(said).toEqual([])
    },
  )

  test('a password can be looked at, and is hidden again when it is sent', async () => {
    const { page } = await openPage()
    await page.goto(login)
    const type = () => page.getAttribute('#password', 'type')
    await page.getByRole('button', { name: 'Show password' }).click()
    expect(await type()).toBe('text')
    await page.getByRole('button', { name: 'Hide password' }).click()
    expect(await type()).toBe('password')
  })

  test('signing in needs no mouse', async () => {
    const { page } = await openPage()
    await page.goto(login)
    // The browser moves there when it has drawn the page.
    await expect.poll(() => focused(page)).toBe('username')
    await page.keyboard.type('ada')
    for (const next of ['password', 'Show', 'sign-in']) {
      await page.keyboard.press('Tab')
      expect(await focused(page)).toBe(next)
    }
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.type('secret')
    await page.keyboard.press('Enter')
    await page.getByText('landed').waitFor()
    expect(server.sent.pop()).toContain('username=ada&password=secret')
  })

  test('a form that has no business with clients cannot be led away', async () => {
    const { page } = await openPage()
    await page.goto(server.address({ name: 'setup', state: 'plain' }))
    await page.fill('#setup-username', 'ada')
    await page.fill('#setup-password', 'correct & horse & battery')
    const violated = page.waitForEvent('console', (message) => message.text().includes('form-action'))
    await page.keyboard.press('Enter')
    await violated
    expect(server.sent.pop()).toContain('csrf_token=token-of-the-form&')
  })

  test('allowing and denying are equally large, and neither is chosen for people', async () => {
    const { page } = await openPage()
    for (const width of [1280, 320]) {
      await page.setViewportSize({ width, height: 720 })
      await page.goto(server.address({ name: 'consent', state: 'new' }))
      const allow = (await page.locator('#allow').boundingBox())!
      const deny = (await page.locator('#deny').boundingBox())!
      expect([allow.width, allow.height, allow.y]).toEqual([deny.width, deny.height, deny.y])
      expect(await page.evaluate('document.activeElement.tagName')).toBe('BODY')
    }
    await page.click('#deny')
    await page.getByText('landed').waitFor()
    expect(server.sent.pop()).toBe('csrf_token=token-of-the-form&decision=deny')
  })

  test('however much an app asks for, the decision stays in sight, and covers nothing that has the focus', async () => {
    const { page } = await openPage()
    await page.setViewportSize({ width: 320, height: 568 })
    await page.goto(server.address({ name: 'consent', state: 'much' }))
    const buttons = page.locator('#allow, #deny')
    expect(await page.evaluate<number>('document.documentElement.scrollHeight')).toBeGreaterThan(1000)
    for (const place of ['top', 'bottom']) {
      if (place === 'bottom') await page.evaluate('window.scrollTo(0, document.documentElement.scrollHeight)')
      for (const button of await buttons.all()) {
        const { y, height } = (await button.boundingBox())!
        expect(y + height).toBeLessThanOrEqual(568)
        expect(y).toBeGreaterThan(0)
      }
    }
    await page.goto(server.address({ name: 'consent', state: 'much' }))
    for (let presses = 0; presses < 4; presses++) {
      await page.keyboard.press('Tab')
      expect([presses, await focused(page), await page.evaluate(COVERED)]).toEqual([
        presses,
        expect.anything(),
        false,
      ])
    }
  })

  test.for(['127.0.0.1', 'localhost', '[::1]'])(
    'form_post takes the response to a client at %s by itself',
    async (host) => {
      const { page, said } = await openPage()
      const action = `http://${host}:${new URL(server.url).port}/answer`
      await page.route(action, (route) => route.fulfill({ body: route.request().postData() ?? '' }))
      await server.show('form-post', { action, fields: { code: 'a&b', state: 'c' } })
      await page.goto(`${server.url}/shown`)
      await page.getByText('code=a%26b&state=c').waitFor()
      expect(said).toEqual([])
    },
  )

  test('form_post has a button for those without JavaScript', async () => {
    const { page } = await openPage({ javaScriptEnabled: false })
    await server.show('form-post', { action: '/answer', fields: { code: 'a' } })
    await page.goto(`${server.url}/shown`)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('landed').waitFor()
    expect(server.sent.pop()).toBe('code=a')
  })

  test('a client may send people on to another of its sites after form_post', async () => {
    const { page, said } = await openPage()
    await server.show('form-post', { action: `${server.url}/answer`, fields: { code: 'a' } })
    await page.goto(`${server.url}/shown`)
    await page.getByText('landed').waitFor()
    expect(said).toEqual([])
  })
})
