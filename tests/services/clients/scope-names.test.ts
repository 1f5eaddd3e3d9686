/** A scope that nobody registered is told of wherever it is written down, and refused where that is asked for. */
import { expect, test } from 'vitest'
import { runCommandHere } from '../../support/command-here.ts'
import { startServer } from '../../support/server.ts'

const seed = {
  scopes: [{ name: 'read' }],
  clients: [
    { client_id: 'reports', scope: ['read', 'raed', 'shop', 'token_introspection', 'openid', 'reports'] },
    { client_id: 'shop', scope: ['read'] },
  ],
}
const { server, settings, output } = await startServer({}, { seed })
const { clients } = server.oauth
const quiet = { ...settings, LOG_LEVEL: undefined }

test('by a file: a warning names it, and not what a client or the server means by a name', () => {
  expect(output()).toMatch(/"level":"warn".*"count":1,"first":\["raed"\]/)
})

test('by code: a warning, or with strict a refusal that stores nothing', async () => {
  await clients.create({ client_id: 'one', scope: ['read', 'wirte'] })
  expect(output()).toMatch(/"level":"warn".*"client":"one","scopes":\["wirte"\]/)
  const refusal = 'scope names what is registered nowhere: wirte'
  await expect(clients.create({ client_id: 'two', scope: ['wirte'] }, { strict: true })).rejects.toThrow(
    refusal,
  )
  await expect(clients.update('shop', { scope: ['wirte'] }, { strict: true })).rejects.toThrow(refusal)
  expect(await clients.find('two')).toBeNull()
  expect(await clients.find('shop')).toMatchObject({ scope: ['read'] })
})

test('by the command line', async () => {
  const lax = await runCommandHere(['client', 'update', 'shop', '--scope', 'read wirte', '--json'], quiet)
  expect(lax.status).toBe(0)
  expect(lax.stderr).toMatch(/\(client "shop", scopes "wirte"\)\.$/m)
  const strict = await runCommandHere(['client', 'create', '--scope', 'wirte', '--strict'], quiet)
  expect(strict).toEqual({
    status: 1,
    stdout: '',
    stderr: 'scope names what is registered nowhere: wirte.\n',
  })
})

test('a command that registers an app with scopes tells people that it may act for itself too, and how it may not', async () => {
  const create = ['client', 'create', '--redirect-uris', 'https://app.example/cb', '--scope', 'read']
  const open = await runCommandHere(create, quiet)
  expect(open.stdout).toContain('grant_types: authorization_code refresh_token client_credentials\n')
  expect(open.stderr).toBe(
    'It signs people in, and may get tokens for itself too (client_credentials) with: read. Without that: --grant-types authorization_code refresh_token\n',
  )
  const closed = await runCommandHere(
    [...create, '--grant-types', 'authorization_code', 'refresh_token'],
    quiet,
  )
  expect(closed.stdout).toContain('grant_types: authorization_code refresh_token\n')
  expect(closed.stderr).toBe('')
  expect(await runCommandHere([...create, '--json'], quiet)).toMatchObject({ status: 0, stderr: '' })
})

test('a client that authenticates by another method than its own is refused, and the log says which', async () => {
  const { client_secret = '' } = await clients.create({
    client_id: 'basic',
    scope: ['read'],
    token_endpoint_auth_method: 'client_secret_basic',
  })
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'basic', client_secret })
  const refused = await fetch(`${settings.OIDC_ISSUER}/token`, { method: 'POST', body })
  expect(refused.status).toBe(401)
  expect(output()).toMatch(
    /"level":"warn".*"client":"basic","used":"client_secret_post","registered":"client_secret_basic"/,
  )
  expect(output()).not.toContain(client_secret)
})
