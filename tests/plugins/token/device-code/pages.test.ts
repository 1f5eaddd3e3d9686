/**
 * The pages for devices: ids of their own, and WCAG 2.2 AA as far as a program can tell.
 * @needs latchkey-device-code
 */
import { expect, test } from 'vitest'
import { assertAccessible } from '../../../support/accessibility.ts'
import { complaintsOf, newBrowserContext, noBrowser } from '../../../support/browser.ts'
import { ask, DEVICE_SEED, DEVICE_SETTINGS, newPerson } from '../../../support/device.ts'
import { startServer } from '../../../support/server.ts'
import { ALICE } from '../../../support/sign-in.ts'
import { createUserAgent } from '../../../support/user-agent.ts'

const server = await startServer(DEVICE_SETTINGS, { seed: DEVICE_SEED })
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

test.each([
  ['de', ['Geben Sie den Code ein', 'nicht bekannt', 'Haben Sie das selbst begonnen?', 'Es wurde nichts erlaubt']],
  ['es', ['Introduzca el código', 'no se conoce aquí', '¿Ha empezado esto usted?', 'No se ha permitido nada']],
])('in %s they say all of their words, and so does the consent page', async (language, [enter, unknown, notice, denied]) => {
  const person = createUserAgent(server.url, { 'accept-language': language })
  const open = await person.get(`${server.url}/device`)
  const refused = await person.submit(open, 'device', { user_code: 'BCDF-GHJK' })
  const { user_code } = await ask(server)
  const login = await person.submit(open, 'device', { user_code })
  const consent = await person.submit(login, 'login', { username: ALICE.username, password: ALICE.password })
  const ended = await person.submit(consent, 'consent', { decision: 'deny' })
  for (const [{ body }, words] of [[open, enter], [refused, unknown], [consent, notice], [ended, denied]] as const)
    expect(body).toContain(words)
}) // prettier-ignore

test.skipIf(noBrowser)('accessible and within their policy', async () => {
  const page = await (await newBrowserContext()).newPage()
  const said = complaintsOf(page)
  const asked = await ask(server)
  for (const address of [asked.verification_uri_complete, `${server.url}/device/allowed`]) {
    await page.goto(address)
    await assertAccessible(page, address)
  }
  expect(said).toEqual([])

  await page.goto(asked.verification_uri)
  await page.fill('#user-code', 'BCDF-GHJK')
  await page.click('#continue')
  await page.waitForSelector('#user-code-error')
  await assertAccessible(page, 'a code that is none')
  await page.fill('#user-code', asked.user_code.toLowerCase())
  await page.click('#continue')
  await page.waitForSelector('form#login')
})
