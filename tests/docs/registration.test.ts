/** docs/doors/registration.md: its pieces put together to a plugin, and its feature, which is the stranger's own file. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { runCommandHere } from '../support/command-here.ts'
import { startServer } from '../support/server.ts'
import { REDIRECT_URI } from '../support/sign-in.ts'
import { checkout, openPage } from './page.ts'

const page = await openPage('doors/registration.md')
const [metadata, endpoint, schema, read, feature] = [
  page.next('ts'),
  page.next('ts'),
  page.next('ts'),
  page.next('ts'),
  page.next('ts'),
]
page.end()

test('the feature is the one that strangers install', async () => {
  expect(feature).toBe(await readFile(join(checkout, 'tests/strangers/registration/registration.ts'), 'utf8'))
})

test('metadata, a door and settings as they stand there', async () => {
  const PLUGINS = join(await temporaryDirectory(), 'apps.ts')
  const head = `import { answer, OAuthError, Type, type OAuth } from 'latchkey'\n${schema}
    export default async function apps({ oauth }: { oauth: OAuth }): Promise<void> {\n${read}
    const stands = async (contract: string) => contracts.includes(contract)\n`
  await writeFile(PLUGINS, [head, metadata, endpoint, '}'].join('\n'))
  const seed = { scopes: [{ name: 'photos' }] }
  const { server, request, settings } = await startServer(
    { PLUGINS, APPS_MOST: 1, APPS_CONTRACTS: 'C-1,C-2' },
    { seed },
  )

  const { clients } = server.oauth
  await clients.create({ client_id: 'paying', support_contract: 'C-2' })
  await expect(clients.update('paying', { support_contract: 'C-3' })).rejects.toThrow(
    'support_contract is not known',
  )

  const register = async (members: object) => {
    const body = JSON.stringify({ redirect_uris: [REDIRECT_URI], ...members })
    const response = await request('/apps', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    return [response.status, await response.json()]
  }
  expect(await register({ support_contract: 'C-1' })).toMatchObject([
    400,
    { error: 'invalid_client_metadata' },
  ])
  expect(await register({ data_region: 'mars' })).toMatchObject([400, { error: 'invalid_client_metadata' }])
  expect(await register({ data_region: 'eu' })).toMatchObject([201, { data_region: 'eu', scope: 'photos' }])
  expect(await register({})).toMatchObject([429, { error: 'temporarily_unavailable' }])

  const { stdout } = await runCommandHere(['doctor'], { ...settings, APPS_MOTS: 2 })
  expect(stdout).toContain('APPS_MOTS is no setting, and is ignored: the nearest is APPS_MOST.')
  expect(stdout).toContain('APPS_MOST is 1: how many apps may have registered.')
})
