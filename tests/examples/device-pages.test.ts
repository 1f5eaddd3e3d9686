/** The pages of `examples/device-grant`: ids of their own, and WCAG 2.2 AA as far as a program can tell. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { complaintsOf, newBrowserContext, noBrowser } from '../support/browser.ts'
import { ask, DEVICE_SEED, DEVICE_SETTINGS, newPerson } from '../support/device.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(DEVICE_SETTINGS, { seed: DEVICE_SEED })
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** By which people's password managers and tests tell the server's own pages. */
const RESERVED = [
  'login', 'username', 'password', 'sign-in', 'client-logo', 'client-policy', 'client-tos', 'login-error', 'consent',
  'allow', 'deny', 'error', 'error-code', 'sign-out', 'signed-out',
] // prettier-ignore

test('no id of theirs is one of the pages of the server', async () => {
  const person = newPerson(server)
  const open = await person.get(`${server.url}/device/`)
  const refused = await person.submit(open, 'device', { user_code: 'BCDF-GHJK' })
  expect(refused).toMatchObject({ status: 400 })
  const ended = [
    await person.get(`${server.url}/device/allowed`),
    await person.get(`${server.url}/device/denied`),
  ]
  for (const { body } of [open, refused, ...ended]) {
    const ids = [...body.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id!)
    expect(ids.length).toBeGreaterThan(0)
    expect(ids.filter((id) => RESERVED.includes(id))).toEqual([])
  }
})

test.skipIf(noBrowser)('accessible and within their policy', { timeout: 180_000 }, async () => {
  const axe = await readFile(createRequire(import.meta.url).resolve('axe-core'), 'utf8')
  const page = await (await newBrowserContext()).newPage()
  const said = complaintsOf(page)
  const violations = async () => {
    await page.evaluate(axe)
    const found = await page.evaluate<{ id: string }[]>(
      `axe.run({ runOnly: ${JSON.stringify(RULES)} }).then(({ violations }) => violations)`,
    )
    return found.map(({ id }) => id)
  }
  await page.setViewportSize({ width: 320, height: 720 })
  const asked = await ask(server)
  for (const address of [asked.verification_uri_complete, `${server.url}/device/allowed`]) {
    await page.goto(address)
    expect(await violations()).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320)
  }
  expect(said).toEqual([])

  await page.goto(asked.verification_uri)
  await page.fill('#user-code', 'BCDF-GHJK')
  await page.click('#use-code')
  await page.waitForSelector('#user-code-error')
  expect(await violations()).toEqual([])
  await page.fill('#user-code', asked.user_code.toLowerCase())
  await page.click('#use-code')
  await page.waitForSelector('form#login')
})
