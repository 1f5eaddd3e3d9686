/** The programs of docs/embedding.md, as they stand there: compiled and run where only the packed package is installed. */
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import * as client from 'openid-client'
import { expect, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { startApi } from '../support/foreign-api.ts'
import { compile, installByPage } from '../support/packages.ts'
import { bearer } from '../support/requests.ts'
import { freePort } from '../support/settings.ts'

const page = await readFile(resolve(import.meta.dirname, '../../docs/embedding.md'), 'utf8')
const programs = [...page.matchAll(/\n```ts\n\/\/ (\w+)\.ts\n([\s\S]*?)\n```\n/g)]
const [, installation = ''] = /\n```sh\n([\s\S]*?)\n```\n/.exec(page) ?? []
const others = ['@types/pg', '@mikro-orm/postgresql', '@types/node']
const folder = await installByPage(installation, '/path/to/shop', others)
for (const [, name, text] of programs) await writeFile(join(folder, `${name}.ts`), text!)
// MikroORM's own declarations do not hold under the strictest options; that ours do is shown by `tests/strangers/voucher`.
const options = join(folder, 'tsconfig.json')
const strict = await readFile(options, 'utf8')
await writeFile(options, strict.replace('"skipLibCheck": false', '"skipLibCheck": true'))
await compile(folder)

/** Runs a program of the page in a database that has nothing of ours yet; returns its origin. */
async function start(name: string, more: (origin: string) => Record<string, string>): Promise<string> {
  const { url, query } = await createDatabase()
  await query('drop schema public cascade')
  await query('create schema public')
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const environment = { PORT: String(port), DATABASE_URL: url, SECRET_KEY: 'k'.repeat(32), ...more(origin) }
  await startApi(folder, `out/${name}.js`, environment)
  // The first line may be one of the log, and not yet the address.
  await expect.poll(async () => fetch(origin).catch(() => null)).not.toBeNull()
  return origin
}

test('every block of code on the page is one of these programs, or installs what they need', () => {
  expect(programs.map(([, name]) => name)).toEqual(['app', 'orm', 'issuers'])
  expect(page.match(/\n```\w/g)).toHaveLength(1 + programs.length)
})

test('app.ts: a service finds the issuer and reads what is guarded, and the home is still its own', async () => {
  const REPORTS_SECRET = `lks_${'r'.repeat(43)}`
  const origin = await start('app', (at) => ({ OIDC_ISSUER: `${at}/auth`, REPORTS_SECRET }))
  const config = await client.discovery(new URL(`${origin}/auth`), 'reports', REPORTS_SECRET, undefined, {
    algorithm: 'oauth2',
    execute: [client.allowInsecureRequests],
  })
  const { access_token: token } = await client.clientCredentialsGrant(config)
  const books = await fetch(`${origin}/books`, { headers: bearer(token) })
  expect([books.status, await books.json()]).toEqual([200, { for: 'reports' }])
  expect((await fetch(`${origin}/shelf`)).status).toBe(401)
  expect((await fetch(`${origin}/shelf`, { headers: bearer(token) })).status).toBe(200)
  expect(await (await fetch(origin)).text()).toBe('Bookshop')
  const page = await fetch(`${origin}/auth/`)
  expect(await page.text()).toContain('/auth/assets/style')
})

test('orm.ts: a row of theirs that refers to a user of ours', async () => {
  const PASSWORD = 'correct horse battery staple'
  const origin = await start('orm', (at) => ({ OIDC_ISSUER: at, PASSWORD }))
  const profiles = await (await fetch(`${origin}/profiles`)).json()
  expect(profiles).toEqual([{ userId: expect.stringMatching(/^[0-9a-f-]{36}$/), nickname: 'Annie' }])
})

test('issuers.ts: two, each with its own metadata', async () => {
  const origin = await start('issuers', (at) => ({ ORIGIN: at }))
  for (const name of ['staff', 'customers']) {
    const response = await fetch(`${origin}/.well-known/oauth-authorization-server/${name}`)
    expect(await response.json()).toMatchObject({ issuer: `${origin}/${name}` })
    expect((await fetch(`${origin}/api/${name}`)).status).toBe(401)
  }
})
