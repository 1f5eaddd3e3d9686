/** docs/languages.md, as it stands there: who reads which language, a plugin’s own pages, and a language that another one brings. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { run } from '../support/packages.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { checkout, openPage, sitDown, substitute } from './page.ts'

const page = await openPage('languages.md')
const [start, curl, plugin, template, copy, french, startFrench] = [
  page.next('sh'),
  page.next('sh'),
  page.next('ts'),
  page.next('html'),
  page.next('sh'),
  page.next('ts'),
  page.next('sh'),
]
/** What stands before `npm start`. */
const settingsOf = (command: string): Record<string, string> =>
  Object.fromEntries([...command.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name!, value!]))
const servers: TestServer[] = []
const started = async (settings: Record<string, string>): Promise<TestServer> => {
  const server = await startServer(settings)
  servers.push(server)
  return server
}
const seenBy = async ({ url }: TestServer, accepts: string, path: string): Promise<string> =>
  (await createUserAgent(url, { 'accept-language': accepts }).get(`${url}${path}`)).body

afterAll(async () => {
  await Promise.all(servers.map(async ({ close }) => close()))
})

test('the page has no other pieces', () => page.end())

test('the setting chooses the languages, and a development start has one from right to left', async () => {
  const server = await started(settingsOf(start))
  expect(await seenBy(server, 'es', '/sign-in')).toContain('<html lang="de">')
  expect(await seenBy(server, 'en', '/sign-in')).toContain('<html lang="en">')
  const desk = await sitDown(server.settings)
  const { stdout } = await desk.sh(substitute(curl, { 'http://localhost:3000': server.url }))
  expect(stdout.trim()).toBe('<html lang="ar-XB" dir="rtl">')
})

test('a plugin has pages of its own in French, and another one brings all the others', async () => {
  const folder = await temporaryDirectory()
  await run('sh', ['-euc', substitute(copy, { ' fr': ` ${join(folder, 'fr')}` })], checkout)
  const file = join(folder, 'fr', 'sign-in.json')
  await writeFile(file, substitute(await readFile(file, 'utf8'), { '"Anmelden"': '"Se connecter"' }))
  const own = { 'french.ts': french, 'opening-hours.ts': plugin, 'opening-hours.eta': template }
  for (const [name, text] of Object.entries(own)) await writeFile(join(folder, name), text)
  const { PLUGINS, UI_LOCALES } = settingsOf(startFrench)
  const server = await started({
    PLUGINS: substitute(PLUGINS!, { './': `${folder}/` }),
    UI_LOCALES: UI_LOCALES!,
  })

  const body = await seenBy(server, 'de', '/opening-hours')
  expect(body).toContain('<html lang="fr">')
  expect(body).toContain('<h1>Horaires d’ouverture</h1>')
  expect(body).toContain('<strong><bdi>Book &amp; Shelf</bdi></strong> est ouvert 6 jours par semaine.')
  expect(body).toMatch(/Fermé à partir du <time [^>]*>24 décembre 2026 à 12:00 UTC<\/time>\./)
  expect(await seenBy(server, 'fr', '/sign-in')).toContain('<h1>Se connecter</h1>')
  const english = await seenBy(server, 'en', '/opening-hours')
  expect(english).toContain('is open 6 days a week.')
  expect(english).toMatch(/Closed from <time [^>]*>24 December 2026 at 12:00 UTC<\/time> on\./)
  const metadata = await (await server.get('/.well-known/openid-configuration')).json()
  expect(metadata).toMatchObject({ ui_locales_supported: ['fr', 'en'] })
})
