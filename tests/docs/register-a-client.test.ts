/** docs/register-a-client.md, as it stands there. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { startServer } from '../support/server.ts'
import { writeFile } from 'node:fs/promises'
import { openPage, sitDown, substitute } from './page.ts'

type Printed = Record<string, unknown>

test('each way registers a client that works', async () => {
  const page = await openPage('register-a-client.md')
  const creations = Array.from({ length: 5 }, () => page.next('sh'))
  const [changes, seed, secret, plugin, trial] = [
    page.next('sh'),
    page.next('json'),
    page.next('sh'),
    page.next('js'),
    page.next('sh'),
  ]
  page.end()

  const directory = await temporaryDirectory()
  const [SEED_FILE, PLUGINS] = ['seed.json', 'own-clients.js'].map((name) => join(directory, name))
  await writeFile(SEED_FILE!, seed)
  await writeFile(PLUGINS!, plugin)
  const server = await startServer({ SEED_FILE, PLUGINS })
  const desk = await sitDown(server.settings)

  const printed: Printed[] = []
  for (const block of creations) printed.push(JSON.parse((await desk.sh(block)).stdout) as Printed)
  expect(printed).toMatchObject([
    { client_name: 'Shop', response_types: ['code'], client_secret: expect.any(String) },
    { client_name: 'Reports', grant_types: ['client_credentials'], client_secret: expect.any(String) },
    { client_name: 'Phone', token_endpoint_auth_method: 'none' },
    { client_name: 'Assistant', default_scope: ['openid', 'read_books'] },
    { client_name: 'Newsletter', optional_scopes: ['email', 'phone'] },
  ])
  expect(printed[2]).not.toHaveProperty('client_secret')

  const [, reports] = printed as { client_id: string; client_secret: string }[]
  const tryAs = async (CLIENT_ID: string, CLIENT_SECRET: string): Promise<string> => {
    const command = substitute(trial, { 'https://login.example.com': server.url })
    const { stdout } = await desk.sh(command, { CLIENT_ID, CLIENT_SECRET })
    return (JSON.parse(stdout) as { scope: string }).scope
  }
  expect(await tryAs(reports!.client_id, reports!.client_secret)).toBe('read_books')
  expect(await tryAs('reports', '7d9a4e0c1b2f48c6a5e3')).toBe('read_books')
  expect((await desk.sh(secret)).stdout).toMatch(/^lks_[\w-]{43}\n$/)
  expect(await server.server.oauth.clients.find('billing')).toMatchObject({ scope: ['read_books'] })
  expect(await server.server.oauth.clients.find('shop')).not.toBeNull()

  const { stdout } = await desk.sh(substitute(changes, { CLIENT_ID: reports!.client_id }))
  expect(stdout).toContain('"read_books write_books"')
  expect(await server.server.oauth.clients.find(reports!.client_id)).toBeNull()
})
