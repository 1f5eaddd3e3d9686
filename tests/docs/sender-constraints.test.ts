/** docs/doors/sender-constraints.md: its rule in a plugin; its feature is the file that tests/flows/stranger-dpop.test.ts installs and judges. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Type } from '../../src/protocol/schema.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { createClient } from '../support/clients.ts'
import { createDpopKey, prove } from '../support/dpop.ts'
import { startServer } from '../support/server.ts'
import { checkout, openPage } from './page.ts'

test('a rule as it stands there; and the plugin and the API are those that a stranger installs', async () => {
  const page = await openPage('doors/sender-constraints.md')
  const rule = page.next('ts')
  for (const file of ['dpop.ts', 'api.ts'])
    expect(page.next('ts')).toBe(await readFile(join(checkout, 'tests/strangers/dpop', file), 'utf8'))
  page.end()

  const PLUGINS = join(await temporaryDirectory(), 'rule.ts')
  await writeFile(PLUGINS, `export default async function ours({ oauth }: any): Promise<void> {\n${rule}}`)
  const members = Type.Object({ house_rules: Type.Optional(Type.Boolean()) })
  const server = await startServer(
    { PLUGINS },
    { extend: ({ oauth }) => oauth.extendClientMetadata(members) },
  )
  const key = await createDpopKey('ES512')
  for (const [house_rules, status] of [
    [false, 200],
    [true, 400],
  ] as const) {
    const { basic } = await createClient(server, { scope: ['read'], house_rules })
    const dpop = await prove(key, { method: 'POST', url: `${server.url}/token` })
    const told = await server.post('/token', { grant_type: 'client_credentials' }, { ...basic, dpop })
    expect([house_rules, told.status]).toEqual([house_rules, status])
  }
})
