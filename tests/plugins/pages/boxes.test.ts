/** What was done, what is so, what to beware of and what went wrong: each in colours of its own, and by more than colour. */
import { describe, expect, test } from 'vitest'
import { newBrowserContext, noBrowser } from '../../support/browser.ts'
import { startServer } from '../../support/server.ts'
import { ROOT } from '../admin/administrator.ts'
import { contrast } from './contrast.ts'

const server = await startServer({}, { seed: { users: [ROOT] } })
const root = (await server.server.oauth.users.find(ROOT.username))!

/** Pages that have such a box, by its kind. */
const PAGES = {
  success: ['/account/profile?saved=yes', '/account/sessions?done=others', '/admin/keys?rotated=ES256', `/admin/user?id=${root.id}&done=saved`],
  notice: ['/admin/keys?again=yes', `/admin/user?id=${root.id}&done=again`],
  warning: [`/admin/user?id=${root.id}`],
} // prettier-ignore

interface Box {
  text: string
  back: string
  sign: string
}

const BOX = (kind: string): string => `(() => {
  const box = document.querySelector('main .${kind}')
  const { color: text, backgroundColor: back } = getComputedStyle(box)
  return { text, back, sign: getComputedStyle(box, '::before').content }
})()`

describe.skipIf(noBrowser)('boxes', () => {
  test.each(['light', 'dark'] as const)('of each kind, %s', async (colorScheme) => {
    const context = await newBrowserContext({ colorScheme })
    const page = await context.newPage()
    await page.goto(`${server.url}/sign-in`)
    await page.fill('#username', ROOT.username)
    await page.fill('#password', 'a wrong one')
    await page.click('#sign-in')
    await page.locator('#login-error').waitFor()
    await page.waitForLoadState()
    const seen = new Map<string, Box>([['alert', await page.evaluate<Box>(BOX('alert'))]])
    await page.fill('#password', ROOT.password)
    await page.click('#sign-in')
    await page.locator('#signed-in-as').waitFor()
    for (const [kind, paths] of Object.entries(PAGES))
      for (const path of paths) {
        await page.goto(server.url + path)
        seen.set(kind, await page.evaluate<Box>(BOX(kind)))
      }
    const boxes = [...seen.values()]
    for (const { text, back } of boxes) expect(contrast(text, back)).toBeGreaterThanOrEqual(4.5)
    for (const what of ['text', 'back', 'sign'] as const)
      expect(new Set(boxes.map((box) => box[what])).size).toBe(4)
    expect(boxes.every(({ sign }) => /^"." \/ "\w+:"$/.test(sign))).toBe(true)
  })
})
