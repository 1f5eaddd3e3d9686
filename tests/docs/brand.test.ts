/** docs/brand.md: its settings, as they stand there, and what the start says of them. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { startServer } from '../support/server.ts'
import { openPage, type Page, sitDown } from './page.ts'

test('a page of settings makes the pages one’s own', async () => {
  const page = await openPage('brand.md')
  const settings = parseEnv(page.next('sh'))
  const logo = join(await temporaryDirectory(), 'logo.svg')
  await writeFile(logo, '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>')
  const server = await startServer({ ...settings, BRAND_LOGO: logo })
  const { body } = await server.server.inject('/')
  for (const text of [
    'Book &amp; Shelf',
    'Get help',
    'Privacy policy',
    'Terms of service',
    '/assets/brand-logo.',
  ])
    expect(body).toContain(text)
  expect(server.output()).not.toContain('has a contrast of')
  await server.close()

  const said = page.next('text').trim()
  const pale = await startServer({ BRAND_COLOR: '#ffcc00' })
  expect(pale.output()).toContain(said)
  await pale.close()

  const shop = await startServer()
  const { stdout } = await (await sitDown(shop.settings)).sh(page.next('sh'))
  expect(stdout).toContain('brand_color')
  expect(await shop.server.oauth.clients.find('prints')).toMatchObject({
    logo_uri: 'https://prints.example/logo.png',
    brand_color: '#b3124f',
  })
  await lookOfYourOwn(page)
  page.end()
})

/** The folder, from its beginning to the sentences by which a start is refused. */
async function lookOfYourOwn(page: Page): Promise<void> {
  const desk = await sitDown({})
  await desk.sh(page.next('sh'))
  const folder = join(desk.directory, 'brand')
  const [said, css, words] = [page.next('text').trim(), page.next('css'), page.next('json')]
  const { stdout } = await desk.sh(page.next('sh'))
  expect(stdout).toMatch(/^layout\n[^]*\nbrand\/templates\/signed-out\.eta stands in for ours/)
  for (const place of ['assets', 'languages/fr', 'languages/de'])
    await mkdir(join(folder, place), { recursive: true })
  await writeFile(join(folder, 'style.css'), css)
  await writeFile(join(folder, 'assets/inter.woff2'), 'wOF2')
  await writeFile(join(folder, 'languages/fr/pages.json'), words)
  await writeFile(join(folder, 'languages/de/pages.json'), '{"Sign in": "Hereinspaziert"}')

  const settings = { BRAND_DIRECTORY: folder, UI_LOCALES: 'en,de,es,fr' }
  const server = await startServer(settings)
  expect(server.output()).toContain(said)
  const { body } = await server.server.inject({ url: '/sign-in', headers: { 'accept-language': 'fr' } })
  expect(body).toContain('Se connecter')
  expect(body).toMatch(/href="\/assets\/own\.[0-9a-f]+\.css"/)
  await server.close()

  const template = join(folder, 'templates/signed-out.eta')
  await writeFile(template, (await readFile(template, 'utf8')).replace('id="signed-out"', ''))
  await expect(startServer(settings)).rejects.toThrow(page.next('text').trim())
  await writeFile(join(folder, 'brand.json'), '{"templates": 0}')
  await expect(startServer(settings)).rejects.toThrow(page.next('text').trim())
}
