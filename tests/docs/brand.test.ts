/** docs/brand.md: its settings, as they stand there, and what the start says of them. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { startServer } from '../support/server.ts'
import { openPage, sitDown } from './page.ts'

test('a page of settings makes the pages one’s own', async () => {
  const page = await openPage('brand.md')
  const lines = page.next('sh').trim().split('\n')
  const settings = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf('=')),
      line.slice(line.indexOf('=') + 1).replaceAll("'", ''),
    ]),
  )
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
  page.end()
}, 60_000)
