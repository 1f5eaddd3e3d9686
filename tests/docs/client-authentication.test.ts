/** docs/doors/client-authentication.md: its method used by a client, and its feature, which is the stranger's own file. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Type } from '../../src/protocol/schema.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { askWith, assertionOf, createAssertionKey, serviceWith } from '../support/client-assertions.ts'
import { startServer } from '../support/server.ts'
import { checkout, openPage } from './page.ts'

const SERVICE = {
  client_id: 'service',
  token_endpoint_auth_method: 'mesh',
  mesh_subject: 'CN=service,O=Example',
  grant_types: ['client_credentials'],
  scope: ['read'],
}

test('a method that a client registers, and no other serves it; and the feature is the one that a stranger installs', async () => {
  const page = await openPage('doors/client-authentication.md')
  const [method, rule, feature] = [page.next('ts'), page.next('ts'), page.next('ts')]
  page.end()
  const stranger = join(checkout, 'tests/strangers/private-key-jwt/private-key-jwt.ts')
  expect(feature).toBe(await readFile(stranger, 'utf8'))

  const PLUGINS = join(await temporaryDirectory(), 'mesh.ts')
  const head = `import type { FastifyRequest } from 'fastify'\nimport { OAuthError, Type } from 'latchkey'\nexport default async function mesh({ oauth }: any): Promise<void> {\n`
  await writeFile(PLUGINS, `${head}${method}${rule}}`)
  const key = await createAssertionKey()
  const rules = Type.Object({ house_rules: Type.Optional(Type.Boolean()) })
  const server = await startServer(
    { PLUGINS, TRUSTED_PROXIES: '127.0.0.1' },
    {
      extend: ({ oauth }) => oauth.extendClientMetadata(rules),
      seed: {
        clients: [SERVICE, serviceWith('free', key.jwk), serviceWith('held', key.jwk, { house_rules: true })],
      },
    },
  )
  for (const [clientId, status] of [
    ['free', 200],
    ['held', 401],
  ] as const)
    expect(await askWith(await assertionOf(key, clientId, `${server.url}/token`), server)).toMatchObject({
      status,
    })
  const form = { grant_type: 'client_credentials', client_id: 'service' }
  const ask = async (subject?: string, more: Record<string, string> = {}): Promise<number> => {
    const headers: Record<string, string> = subject === undefined ? {} : { 'x-client-subject': subject }
    return (await server.post('/token', { ...form, ...more }, headers)).status
  }
  expect(await ask(SERVICE.mesh_subject)).toBe(200)
  expect([await ask('CN=other'), await ask(), await ask('CN=other', { client_secret: 'x' })]).toEqual([
    401, 401, 401,
  ])

  const direct = await startServer(
    { PLUGINS, TRUSTED_PROXIES: '127.0.0.9' },
    { seed: { clients: [SERVICE] } },
  )
  const forged = { 'x-client-subject': SERVICE.mesh_subject, 'x-forwarded-for': '127.0.0.9' }
  expect((await direct.post('/token', form, forged)).status).toBe(401)

  const { clients } = server.server.oauth
  await expect(clients.create({ token_endpoint_auth_method: 'mesh' })).rejects.toThrow(
    'mesh needs a mesh_subject',
  )
  const metadata = (await (await server.get('/.well-known/openid-configuration')).json()) as Record<
    string,
    string[]
  >
  expect(metadata['token_endpoint_auth_methods_supported']).toContain('mesh')
})
