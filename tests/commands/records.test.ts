/** `scope …` and `resource …`: what each command stores and prints, for programs (--json) and for people. */
import { expect, test } from 'vitest'
import { commandsHere, runCommandHere } from '../support/command-here.ts'
import { runCommand } from '../support/process.ts'
import { basic } from '../support/requests.ts'
import { startServer } from '../support/server.ts'

const API = 'https://api.example/'
const KNOWN = 'https://known.example/'
const CLIENT = { client_id: 'service', client_secret: `lks_${'s'.repeat(43)}`, scope: ['read'] }
const server = await startServer({}, { seed: { clients: [CLIENT] } })
const { clients, resources, audit } = server.server.oauth
const settings = { ...server.settings, LOG_LEVEL: 'error' }
const scope = commandsHere(settings, 'scope')
const resource = commandsHere(settings, 'resource')

async function refusal(...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await runCommandHere(args, settings)
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  return stderr
}

/** Whom a new token of the service is for. */
async function audience(): Promise<unknown> {
  const response = await server.post('/token', { grant_type: 'client_credentials' }, basic(CLIENT.client_id, CLIENT.client_secret))
  const { access_token: token } = (await response.json()) as { access_token: string }
  return (JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { aud: unknown }).aud
} // prettier-ignore

test('a resource and its scope are registered, changed and deleted, and running servers know it', async () => {
  // In a process of its own: what else might write to stdout there is seen too.
  const made = await runCommand(['resource', 'create', API, '--name', 'The API', '--access-token-lifetime', '60', '--json'], settings)
  expect(made).toEqual({ status: 0, stderr: '', stdout: expect.stringMatching(/^\{.*\}\n$/) as string })
  expect(JSON.parse(made.stdout)).toEqual({ resource: API, name: 'The API', access_token_lifetime: 60 })
  const read = { name: 'read', description: 'Read your books', resource: API }
  expect(await scope.runJson('create', 'read', '--description', 'Read your books', '--resource', API)).toEqual(read)
  expect(await resources.findScope('read')).toEqual(read)
  await expect.poll(audience).toBe(API)

  // An empty text takes a member away, and what is not named stays.
  const changed = await resource.runJson('update', API, '--name', '', '--access-token-format', 'jwt')
  expect(changed).toEqual({ resource: API, access_token_format: 'jwt', access_token_lifetime: 60 })
  expect(await resources.findResource(API)).toEqual(changed)
  expect(await resource.runJson('update', API, '--access-token-lifetime', '')).toEqual({ resource: API, access_token_format: 'jwt' })
  expect(await scope.runJson('update', 'read', '--resource', '')).toEqual({ name: 'read', description: 'Read your books' })
  await expect.poll(audience).toBe(server.url)

  expect(await refusal('scope', 'delete', 'read')).toBe('scope delete removes read for good: add --yes.\n')
  expect(await refusal('scope', 'delete', 'read', '--yes')).toBe(
    'name is in the scope list of clients: take it out there first (service).\n',
  )
  expect(await resources.findScope('read')).not.toBeNull()
  await clients.update('service', { scope: [] })
  expect(await scope.runJson('delete', 'read', '--yes')).toEqual({ name: 'read', deleted: true })
  expect(await resource.run('delete', API, '--yes')).toBe(`${API} is deleted.\n`)
  expect([await resources.findScope('read'), await resources.findResource(API)]).toEqual([null, null])
}) // prettier-ignore

test('who did it, what was before and what is after stand in the audit log', async () => {
  const actor = { kind: 'command', id: expect.any(String) as string }
  for (const what of ['registered', 'changed', 'deleted'])
    for (const name of ['scope', 'resource']) {
      const type = `${name}.${what}`
      const [event] = (await audit.list({ type })).events
      expect([type, event]).toEqual([type, expect.objectContaining({ actor })])
    }
  const events = (await audit.list({ type: 'resource.changed' })).events
  expect(events.map(({ details }) => details)).toMatchObject([
    { resource: API, changes: { access_token_lifetime: [60, null] } },
    { resource: API, changes: { name: ['The API', null], access_token_format: [null, 'jwt'] } },
  ])
})

test('show and list print them for programs and for people', async () => {
  await resource.run('create', 'https://a.example/', '--name', 'A', '--access-token-format', 'opaque')
  await resource.run('create', 'https://b.example/')
  await scope.run('create', 'a:read', '--resource', 'https://a.example/')
  await scope.run('create', 'b:read', '--description', 'Read B')
  const a = { resource: 'https://a.example/', name: 'A', access_token_format: 'opaque' }
  expect(await resource.runJson('show', 'https://a.example/')).toEqual(a)
  expect(await resource.run('show', 'https://a.example/')).toBe(
    'resource: https://a.example/\nname: A\naccess_token_format: opaque\n',
  )
  expect(await resource.runJson('list')).toEqual([a, { resource: 'https://b.example/' }])
  expect(await resource.run('list', '--limit', '1')).toBe('https://a.example/  A  opaque\n')
  expect(await scope.runJson('list', '--after', 'a:read')).toEqual([
    { name: 'b:read', description: 'Read B' },
  ])
  expect(await scope.run('list')).toBe('a:read  https://a.example/\nb:read  Read B\n')
})

test.each([
  [['scope', 'show', 'nothing'], 'name is not registered: `latchkey scope list` says what is.'],
  [['scope', 'update', 'nothing', '--description', 'a'], 'name is not registered: `latchkey scope list` says what is.'],
  [['scope', 'delete', 'nothing', '--yes'], 'name is not registered: `latchkey scope list` says what is.'],
  [['scope', 'create', 'there'], 'name is already registered: `scope update there` changes it.'],
  [['resource', 'create', KNOWN], `resource is already registered: \`resource update ${KNOWN}\` changes it.`],
  [['scope', 'create', 'two words'], 'name must be a scope name of RFC 6749 section 3.3.'],
  [['scope', 'create', 'lost', '--resource', 'https://nowhere.example/'], 'resource is not registered: `latchkey resource list` says what is.'],
  [['scope', 'list', '--limit', 'many'], '--limit must be a whole number.'],
  [['resource', 'show', API], 'resource is not registered: `latchkey resource list` says what is.'],
  [['resource', 'update', API, '--name', 'a'], 'resource is not registered: `latchkey resource list` says what is.'],
  [['resource', 'delete', API, '--yes'], 'resource is not registered: `latchkey resource list` says what is.'],
  [['resource', 'create', 'api'], 'resource must be an absolute URI without a fragment.'],
  [['resource', 'create', API, '--access-token-format', 'xml'], 'access_token_format must be jwt or opaque.'],
  [['resource', 'create', API, '--access-token-lifetime', '-1'], '--access-token-lifetime must be a whole number.'],
])('%j is refused in one sentence, and changes nothing', async (args, sentence) => {
  await resources.saveScope({ name: 'there', description: 'There' })
  await resources.saveResource({ resource: KNOWN })
  const before = [await resources.listScopes(), await resources.listResources()]
  expect(await refusal(...args)).toBe(`${sentence}\n`)
  expect([await resources.listScopes(), await resources.listResources()]).toEqual(before)
}) // prettier-ignore

test('a resource has aliases, separated by spaces', async () => {
  const id = 'https://named.example'
  const aliases = ['https://a.named.example', 'urn:named']
  expect(await resource.runJson('create', id, '--aliases', ' urn:named  https://a.named.example ')).toEqual({ resource: id, aliases })
  expect(await resource.run('show', id)).toBe(`resource: ${id}\naliases: ${aliases.join(' ')}\n`)
  expect(await refusal('resource', 'create', 'urn:other', '--aliases', 'urn:named/')).toBe(
    `aliases hold urn:named/, which is an alias of ${id}.\n`,
  )
  expect(await refusal('resource', 'create', 'urn:named')).toBe(`resource is an alias of ${id}: take it away there first.\n`)
  expect(await resource.runJson('update', id, '--aliases', '')).toEqual({ resource: id })
  await resource.run('delete', id, '--yes')
}) // prettier-ignore

test('tokens for a resource may have to be bound to a key', async () => {
  const id = 'https://bound.example/'
  const member = '--dpop-bound-access-tokens'
  const bound = { resource: id, dpop_bound_access_tokens: true }
  expect(await resource.runJson('create', id, member, 'true')).toEqual(bound)
  expect(await runCommand(['resource', 'update', id, member, 'maybe'], settings)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('dpop_bound_access_tokens must be true or false'),
  })
  expect(await resource.runJson('show', id)).toEqual(bound)
  expect(await resource.runJson('update', id, member, '')).toEqual({ resource: id })
  await resource.run('delete', id, '--yes')
})
