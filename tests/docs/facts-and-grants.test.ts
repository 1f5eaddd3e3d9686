/** docs/doors/facts-and-grants.md: its artifacts and records kept, its contribution put into a token, and its feature, which is the stranger's own file. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { createClient, getToken } from '../support/clients.ts'
import { startServer } from '../support/server.ts'
import { checkout, openPage } from './page.ts'

test('an invitation spent once, and a claim by the client that asks; and the feature is the one that a stranger installs', async () => {
  const page = await openPage('doors/facts-and-grants.md')
  const [artifacts, records, contribution, feature] = [1, 2, 3, 4].map(() => page.next('ts'))
  page.end()

  const stranger = join(checkout, 'tests/strangers/token-exchange/token-exchange.ts')
  expect(feature).toBe(await readFile(stranger, 'utf8'))

  const PLUGINS = join(await temporaryDirectory(), 'tenant.ts')
  const plugin = [
    `import { randomUUID } from 'node:crypto'`,
    `import { Type } from 'latchkey'`,
    'export default async function tenant({ oauth }: any): Promise<void> {',
    'oauth.extendClientMetadata(Type.Object({ default_tenant: Type.Optional(Type.String()) }))',
    contribution,
    `const user = await oauth.users.create({ username: 'ann' })`,
    artifacts,
    records,
    `oauth.extend('metadata', async () => ({ kept: [open.map((one: any) => one.value), invitation, await invitations.spend(code)], lasting: [isNew, isRenamed, ...all.map((one: any) => [one.value, one.id === id])] }))`,
    '}',
  ]
  await writeFile(PLUGINS, plugin.join('\n'))
  const server = await startServer({ PLUGINS })
  const metadata = (await (await server.get('/.well-known/openid-configuration')).json()) as {
    kept: unknown
    lasting: unknown
  }
  const kept = { email: 'bob@example.com' }
  expect(metadata.kept).toEqual([[kept], kept, null])
  expect(metadata.lasting).toEqual([true, true, [{ name: 'Acme & Sons', domain: 'acme.example' }, true]])
  const client = await createClient(server, { scope: ['read'], default_tenant: 'north' })
  expect(decodeJwt((await getToken(server, client)).access_token)).toMatchObject({ tenant: 'north' })
})
