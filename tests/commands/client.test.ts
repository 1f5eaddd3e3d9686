/** `client …`: what each command stores and prints, for programs (--json) and for people. */
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { requestToken } from '../support/clients.ts'
import { commandsHere, runCommandHere } from '../support/command-here.ts'
import { runCommand } from '../support/process.ts'
import { startReceiver } from '../support/receiver.ts'
import { startServer } from '../support/server.ts'
import { GUARDED, statusOf, toClient } from '../support/service.ts'

const server = await startServer({ PLUGINS: GUARDED })
const { clients } = server.server.oauth
const settings = { ...server.settings, LOG_LEVEL: 'error' }
const { run, runJson } = commandsHere(settings, 'client')

async function refusal(...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await runCommandHere(['client', ...args], settings)
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  return stderr
}

test('create registers a client with members by their names, and shows its secret', async () => {
  // In a process of its own: what else might write to stdout there is seen too.
  const { status, stdout, stderr } = await runCommand([
    'client', 'create', '--json', '--client-name', 'A service', '--scope', 'read write', '--contacts', 'a@example.com', 'b@example.com',
    '--redirect-uri', 'https://app.example/back', '--response-types', 'code id_token', '--require-auth-time', 'true',
    '--default-max-age', '60', '--jwks', '{"keys": []}',
  ], settings) // prettier-ignore
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout.split('\n')).toHaveLength(2)
  const created = JSON.parse(stdout) as Record<string, unknown>
  const { client_id, client_secret, ...members } = created
  expect(members).toEqual({
    client_name: 'A service',
    scope: 'read write',
    contacts: ['a@example.com', 'b@example.com'],
    redirect_uris: ['https://app.example/back'],
    response_types: ['code id_token'],
    grant_types: ['authorization_code', 'refresh_token', 'implicit', 'client_credentials'],
    require_auth_time: true,
    default_max_age: 60,
    jwks: { keys: [] },
  })
  expect(client_secret).toMatch(/^lks_[\w-]{43}$/)
  expect(await clients.find(client_id as string)).toMatchObject({ ...members, scope: ['read', 'write'] })
  expect(await statusOf(requestToken(server, toClient(created)))).toBe(200)
})

test('create takes a whole registration as JSON, and a secret that was chosen, which it does not repeat', async () => {
  const metadata = { client_id: 'from json', scope: 'read', grant_types: ['client_credentials'] }
  const chosen = 'a secret that was chosen'
  const created = await runJson('create', '--metadata', JSON.stringify(metadata), '--client-secret', chosen)
  expect(created).toMatchObject(metadata)
  expect(JSON.stringify(created)).not.toContain(chosen)
  const client = toClient({ client_id: 'from json', client_secret: chosen })
  expect(await statusOf(requestToken(server, client))).toBe(200)
})

test('members that a plugin adds are options too, with the types the plugin gave them', async () => {
  const args = ['--client-id', 'shelf', '--shelf-limit', '5', '--shelf-names', 'a b', '--shelf-names=c']
  expect(await runJson('create', ...args)).toMatchObject({ shelf_limit: 5, shelf_names: ['a', 'b', 'c'] })
  expect(await clients.find('shelf')).toMatchObject({ shelf_limit: 5 })
  expect(await runJson('update', 'shelf', '--shelf-limit', '7')).toMatchObject({ shelf_limit: 7 })
  expect(await refusal('update', 'shelf', '--shelf-limit', '0')).toMatch(/^shelf_limit .*\.\n$/)
  expect(await refusal('update', 'shelf', '--shelf-limit', 'many')).toBe(
    '--shelf-limit must be a whole number.\n',
  )
})

test('--env prints what the app is configured with, to be written into a file', async () => {
  const callback = 'https://shop.example/callback'
  const created = await run('create', '--client-id', 'shop', '--redirect-uris', callback, '--env')
  const { OIDC_CLIENT_SECRET: secret, ...others } = parseEnv(created)
  expect(others).toEqual({
    OIDC_ISSUER: server.url,
    OIDC_DISCOVERY_URL: `${server.url}/.well-known/openid-configuration`,
    OIDC_CLIENT_ID: 'shop',
    OIDC_REDIRECT_URI: callback,
  })
  expect(secret).toMatch(/^lks_[\w-]{43}$/)
  expect(await run('show', 'shop', '--env')).toBe(created.replace(secret!, ''))
  const rotated = parseEnv(await run('rotate-secret', 'shop', '--env'))['OIDC_CLIENT_SECRET']
  expect(rotated).toMatch(/^lks_[\w-]{43}$/)
  expect(rotated).not.toBe(secret)
  const both = await runCommand(['client', 'show', 'shop', '--env', '--json'], settings)
  expect(both).toMatchObject({ status: 1, stdout: '' })
  expect(both.stderr).toContain("'--env' cannot be used with option '--json'")
})

test('--env names the issuer of the server that runs in this directory, where neither issuer nor port is set', async () => {
  const callback = 'https://moved.example/callback'
  await clients.create({ client_id: 'moved', redirect_uris: [callback] })
  const DATA_DIR = await temporaryDirectory()
  const unset = { ...settings, OIDC_ISSUER: undefined, PORT: undefined, DATA_DIR }
  const issuer = async (noted: string): Promise<string | undefined> => {
    await writeFile(join(DATA_DIR, 'port'), noted)
    const { stdout } = await runCommandHere(['client', 'show', 'moved', '--env'], unset)
    return parseEnv(stdout)['OIDC_ISSUER']
  }
  let named = ''
  const running = await startReceiver((_request, response) => response.end(JSON.stringify({ issuer: named })))
  const { port } = running
  named = `http://localhost:${port}`
  const nobody = spawnSync(process.execPath, ['--version']).pid
  // It waits for a moment for who is said to be there.
  await expect.poll(async () => issuer(`${port} ${process.pid}\n`)).toBe(named)
  // It has ended; another one is there, or none; it was cut off, or is no note of ours.
  for (const noted of [`${port} ${nobody}`, `1 ${process.pid}`, `70000 ${process.pid}`, `${port}`, '', 'x'])
    expect(await issuer(noted)).toBe('http://localhost:3000')
  named = 'https://another.example'
  expect(await issuer(`${port} ${process.pid}`)).toBe('http://localhost:3000')
})

test('update changes what it names and nothing else', async () => {
  await clients.create({ client_id: 'changing', client_name: 'Name', scope: 'a b' })
  const updated = await runJson('update', 'changing', '--scope', 'c d')
  expect(updated).toMatchObject({ client_id: 'changing', client_name: 'Name', scope: 'c d' })
  expect(updated).not.toHaveProperty('client_secret')
  expect(await clients.find('changing')).toMatchObject({ scope: ['c', 'd'] })
})

test('a warning is a sentence on stderr, and stdout is the JSON alone', async () => {
  await clients.create({ client_id: 'warned', scope: 'a' })
  const args = ['client', 'update', 'warned', '--scope', 'read_books write_books', '--json']
  const { status, stdout, stderr } = await runCommand(args, { ...settings, LOG_LEVEL: undefined })
  expect({ status, stderr }).toEqual({
    status: 0,
    stderr:
      'No scope is registered under these names: they are granted as they are (client "warned", scopes "read_books" "write_books").\n',
  })
  expect(JSON.parse(stdout)).toMatchObject({ client_id: 'warned', scope: 'read_books write_books' })
})

test('show and list give clients without their secrets, to programs and to people', async () => {
  await clients.create({ client_id: 'shown', client_name: 'To be shown', scope: 'a b', jwks: { keys: [] } })
  const shown = await runJson('show', 'shown')
  expect(shown).toMatchObject({ client_id: 'shown', client_name: 'To be shown', scope: 'a b' })
  expect(shown).not.toHaveProperty('client_secret')
  const lines = (await run('show', 'shown')).split('\n')
  expect(lines).toContain('client_id: shown')
  expect(lines).toContain('scope: a b')
  expect(lines).toContain('jwks: {"keys":[]}')
  const listed = await runJson('list', '--after', 'showm', '--limit', '1')
  expect(listed).toEqual([shown])
  expect(await run('list', '--after', 'showm', '--limit', '1')).toBe(
    'shown  To be shown  client_credentials\n',
  )
})

test('list --search names those whose id or name begins with it', async () => {
  await clients.create({ client_id: 'found-by-id', scope: ['a'] })
  await clients.create({ client_id: 'by-name', client_name: 'Found by name', scope: ['a'] })
  const found = (await runJson('list', '--search', 'found')) as unknown as { client_id: string }[]
  expect(found.map(({ client_id: id }) => id)).toEqual(['by-name', 'found-by-id'])
  expect(await refusal('list', '--search', 'found', '--after', 'a')).toBe(
    '--search and --after do not go together.\n',
  )
})

test('rotate-secret shows the new secret once; the old one ends at once, or after the overlap', async () => {
  const first = toClient(await clients.create({ client_id: 'rotating', scope: 'a' }))
  const second = toClient(await runJson('rotate-secret', 'rotating', '--overlap', '600'))
  expect(await statusOf(requestToken(server, second))).toBe(200)
  expect(await statusOf(requestToken(server, first))).toBe(200)
  const printed = await run('rotate-secret', 'rotating')
  const third = toClient({ client_id: 'rotating', client_secret: /client_secret: (\S+)/.exec(printed)![1] })
  await expect.poll(() => statusOf(requestToken(server, third))).toBe(200)
  expect(await statusOf(requestToken(server, first))).toBe(401)
  expect(await statusOf(requestToken(server, second))).toBe(401)
})

test('delete wants --yes, and says what it did', async () => {
  await clients.create({ client_id: 'leaving', scope: 'a' })
  expect(await refusal('delete', 'leaving')).toMatch(/--yes/)
  expect(await clients.find('leaving')).not.toBe(null)
  expect(await runJson('delete', 'leaving', '--yes')).toEqual({ client_id: 'leaving', deleted: true })
  expect(await clients.find('leaving')).toBe(null)
  expect(await refusal('delete', 'leaving', '--yes')).toBe(
    'client_id is not registered: `latchkey client list` says what is.\n',
  )
})
