/** The package alone, in a folder that knows nothing of this checkout: a look is begun by its command, and served below a path. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { installStranger, pack } from '../support/packages.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import { freePort } from '../support/settings.ts'
import { answerOf, authorizationUrl, goThrough, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const folder = await installStranger('voucher', 'latchkey', await pack('latchkey'), ['@types/node'])
const program = join(folder, 'node_modules/.bin/latchkey')
const BRAND_DIRECTORY = join(folder, 'brand')
const brand = async (...args: string[]) => {
  const { status, stderr } = await runCommand(['brand', ...args], {}, program)
  expect([status, stderr]).toEqual([0, ''])
}

test('a look is begun, and people sign in through it', async () => {
  await brand('init', BRAND_DIRECTORY)
  await brand('template', 'login', BRAND_DIRECTORY)
  const template = join(BRAND_DIRECTORY, 'templates/login.eta')
  await writeFile(template, `${await readFile(template, 'utf8')}<p id="ours">Ours</p>`)
  await writeFile(join(BRAND_DIRECTORY, 'style.css'), '@layer theme { :root { --radius: 2px } }')

  const PORT = await freePort()
  const settings = { BRAND_DIRECTORY, PORT, OIDC_ISSUER: `http://127.0.0.1:${PORT}/auth` }
  const seed = { ...SEED, clients: [{ ...WEB, brand_color: '#b3124f' }] }
  const server = await spawnServer(settings, { seed, program })
  expect(server.output()).toContain('BRAND_DIRECTORY: style.css; templates in the place of ours: login.')
  const agent = createUserAgent(server.url)
  const page = await agent.get(authorizationUrl(server))
  expect(page.body).toContain('<p id="ours">Ours</p>')
  const sheets = [...page.body.matchAll(/<link rel="stylesheet" href="([^"]+)"/g)].map(([, href]) => href!)
  expect(sheets).toEqual([
    expect.stringMatching(/^\/auth\/assets\/style\./),
    expect.stringMatching(/^\/auth\/assets\/own\./),
    expect.stringMatching(/^\/auth\/assets\/client\/b3124f\./),
  ])
  const statuses = await Promise.all(sheets.map(async (href) => (await fetch(new URL(href, server.url))).status))
  expect(statuses).toEqual([200, 200, 200])
  expect(answerOf(await goThrough(agent, page)).has('code')).toBe(true)
}) // prettier-ignore
