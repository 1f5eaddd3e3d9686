/** Scopes and resources on their pages: listed, registered, changed, deleted, and what tokens make of it. */
import { describe, expect, test } from 'vitest'
import { basic } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { findForm, type Page } from '../../support/user-agent.ts'
import { alertOf, doneOn, ROOT, signedIn, textOf } from './administrator.ts'

const API = 'https://api.example/'
const CLIENT = { client_id: 'service', client_secret: `lks_${'s'.repeat(43)}`, scope: ['read', 'write'] }
const server = await startServer({}, { seed: { users: [ROOT], clients: [CLIENT] } })
const { resources, audit } = server.server.oauth
const agent = await signedIn(server)
const page = async (path: string, id?: string): Promise<Page> =>
  agent.get(
    `${server.url}/admin${path}${id === undefined ? '' : `?${new URLSearchParams({ id }).toString()}`}`,
  )
const create = async (path: string, fields: Record<string, string>): Promise<Page> =>
  agent.submit(await page(`${path}s/new`), 'record', fields)

/** What a new token of the service says. */
async function claims(): Promise<Record<string, unknown>> {
  const response = await server.post('/token', { grant_type: 'client_credentials' }, basic(CLIENT.client_id, CLIENT.client_secret))
  const { access_token: token } = (await response.json()) as { access_token: string }
  return JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>
} // prettier-ignore

test('a resource and its scope are registered, changed and deleted, and the next token shows it', async () => {
  expect(await claims()).toMatchObject({ aud: server.url, scope: 'read write' })
  const made = await create('/resource', { resource: API, name: 'The API', access_token_lifetime: '60' })
  expect([made.status, made.body]).toEqual([200, expect.stringContaining('role="status"')])
  expect(await resources.findResource(API)).toEqual({ resource: API, name: 'The API', access_token_lifetime: 60 })
  expect(made.body).toContain('No scope belongs to it yet.')
  // A narrow screen breaks the address between its parts, and not in a word.
  expect(made.body).toContain('<h1><bdi>https://<wbr>api.<wbr>example/</bdi></h1>')
  expect((await page('/resources')).body).toContain('<code>https://<wbr>api.<wbr>example/</code>')

  const scope = await create('/scope', { name: 'read', description: 'Read <b>', resource: API })
  expect(scope.body).not.toContain('<b>')
  expect(await resources.findScope('read')).toEqual({ name: 'read', description: 'Read <b>', resource: API })
  const { exp, iat, ...token } = await claims()
  expect(token).toMatchObject({ aud: [API, server.url] })
  expect(Number(exp) - Number(iat)).toBe(60)
  expect((await page('/resource', API)).body).toContain('href="/admin/scope?id=read"')

  // Emptied, a field means the default again.
  await agent.submit(await page('/resource', API), 'record', { name: '', access_token_lifetime: '', access_token_format: 'jwt' })
  expect(await resources.findResource(API)).toEqual({ resource: API, access_token_format: 'jwt' })
  await agent.submit(await page('/scope', 'read'), 'record', { description: '', resource: '' })
  expect(await resources.findScope('read')).toEqual({ name: 'read' })
  expect(await claims()).toMatchObject({ aud: server.url })

  await agent.submit(await page('/scope', 'read'), 'record', { resource: API })
  const list = await agent.submit(await page('/resource', API), 'delete-record', { confirm: API })
  expect([list.url, await resources.findResource(API)]).toEqual([`${server.url}/admin/resources?removed=yes`, null])
  expect(doneOn(list)).toBe('The resource is deleted.')
  expect(await resources.findScope('read')).toEqual({ name: 'read' })
  expect(await claims()).toMatchObject({ aud: server.url, scope: 'read write' })
  const refused = await agent.submit(await page('/scope', 'read'), 'delete-record', { confirm: 'read' })
  expect([refused.status, textOf(refused, 'confirm-error')]).toEqual([
    400,
    `It is in the scope list of clients: take it out there first (${CLIENT.client_id}).`,
  ])
  await server.server.oauth.clients.update(CLIENT.client_id, { scope: ['write'] })
  const left = await agent.submit(refused, 'delete-record', { confirm: 'read' })
  expect(doneOn(left)).toBe('The scope is deleted.')
  expect(await resources.findScope('read')).toBeNull()
  expect((await page('/scope', 'read')).status).toBe(404)
}) // prettier-ignore

test('who did it, what was before and what is after stand in the audit log', async () => {
  const { id } = (await server.server.oauth.users.find('root'))!
  const types = ['registered', 'changed', 'deleted'].flatMap((what) => [`resource.${what}`, `scope.${what}`])
  for (const type of types) {
    const [event] = (await audit.list({ type })).events
    expect([type, event]).toEqual([type, expect.objectContaining({ actor: { kind: 'user', id } })])
  }
  const [changed] = (await audit.list({ type: 'resource.changed' })).events
  expect(changed!.details).toMatchObject({ resource: API, changes: { name: ['The API', null], access_token_format: [null, 'jwt'] } })
}) // prettier-ignore

test.each([
  ['/resource', { resource: 'api' }, 'resource', 'Must be an absolute URI without a fragment.'],
  ['/resource', { resource: '' }, 'resource', 'Must be an absolute URI without a fragment.'],
  ['/resource', { resource: `${API}#a` }, 'resource', 'Must be an absolute URI without a fragment.'],
  ['/resource', { resource: API, access_token_lifetime: '-1' }, 'access_token_lifetime', 'Must be a whole number of seconds'],
  ['/resource', { resource: API, access_token_lifetime: '1e3' }, 'access_token_lifetime', 'Must be a whole number of seconds'],
  ['/resource', { resource: API, access_token_format: 'xml' }, 'access_token_format', 'Must be jwt or opaque.'],
  ['/resource', { resource: 'https://there.example/' }, 'resource', 'Is already registered.'],
  ['/scope', { name: 'two words' }, 'name', 'Must be a scope name of RFC 6749 section 3.3.'],
  ['/scope', { name: '' }, 'name', 'Must be a scope name of RFC 6749 section 3.3.'],
  ['/scope', { name: 'there' }, 'name', 'Is already registered.'],
  ['/scope', { name: 'lost', resource: 'https://nowhere.example/' }, 'resource', 'Is not registered.'],
  ['/scope', { name: 'long', description: 'x'.repeat(2049) }, 'description', 'Must be a text of 2048 characters at most'],
])('%s refuses %j at its field, and keeps what was typed', async (path, fields, field, message) => {
  await resources.saveResource({ resource: 'https://there.example/', name: 'There' })
  await resources.saveScope({ name: 'there', description: 'There' })
  const [before] = [[await resources.listResources(), await resources.listScopes()]]
  const refused = await create(path, fields)
  expect([refused.status, textOf(refused, `${field}-error`)]).toEqual([400, expect.stringContaining(message)])
  expect(refused.body).toMatch(/<title>Error: /)
  const { access_token_format: _choice, ...typed } = fields as Record<string, string>
  expect(findForm(refused, 'record')!.fields).toMatchObject(typed)
  expect([await resources.listResources(), await resources.listScopes()]).toEqual(before)
}) // prettier-ignore

test.for([
  ['/resource', { resource: 'no URI', access_token_format: 'xml', access_token_lifetime: '-1' }],
  ['/scope', { name: 'two words', description: 'x'.repeat(2049) }],
] as const)('%s marks all that is wrong at once: %j', async ([path, fields]) => {
  const refused = await create(path, fields)
  const marked = Object.keys(fields).map((field) => textOf(refused, `${field}-error`))
  expect([refused.status, marked]).toEqual([400, marked.map(() => expect.stringMatching(/^Must be /))])
})

test('a resource has other identifiers, one per line, and none that is another resource', async () => {
  const API = 'https://named.example/'
  const saved = await create('/resource', { resource: API, aliases: 'urn:named\nhttps://was.named.example' })
  expect(saved.status).toBe(200)
  expect(await resources.findResource(API)).toMatchObject({ aliases: ['https://was.named.example', 'urn:named'] })
  expect((await page('/resource', API)).body).toContain('https://was.named.example\nurn:named</textarea>')
  const refused = await create('/resource', { resource: 'urn:another', aliases: 'urn:named/' })
  expect([refused.status, textOf(refused, 'aliases-error')]).toEqual([400, `Hold urn:named/, which is an alias of ${API}.`])
  await agent.submit(await page('/resource', API), 'record', { aliases: '' })
  expect(await resources.findResource(API)).toEqual({ resource: API })
}) // prettier-ignore

test('two at once that register the same: one does', async () => {
  const forms = await Promise.all([page('/scopes/new'), page('/scopes/new')])
  const answers = await Promise.all(forms.map(async (one, at) => agent.submit(one, 'record', { name: 'raced', description: `${at}` })))
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400])
}) // prettier-ignore

test('a form that was opened before somebody else saved undoes nothing unseen', async () => {
  await resources.saveScope({ name: 'shared', description: 'One' })
  const opened = await page('/scope', 'shared')
  await resources.saveScope({ name: 'shared', description: 'Two' })
  const asked = await agent.submit(opened, 'record', { description: 'Three' })
  expect([asked.status, asked.body]).toEqual([400, expect.stringContaining('changed meanwhile')])
  expect((await agent.submit(asked, 'record')).status).toBe(200)
  expect(await resources.findScope('shared')).toEqual({ name: 'shared', description: 'Three' })
})

describe.each([
  ['/scope', (at: string) => resources.saveScope({ name: `many-${at}` })],
  ['/resource', (at: string) => resources.saveResource({ resource: `https://many.example/${at}` })],
])('%s', (path, save) => {
  test('is deleted only once its name was typed', async () => {
    await save('kept')
    const id = path === '/scope' ? 'many-kept' : 'https://many.example/kept'
    const refused = await agent.submit(await page(path, id), 'delete-record', { confirm: 'kept' })
    expect([refused.status, textOf(refused, 'confirm-error')]).toEqual([400, expect.any(String)])
    const noun = path === '/scope' ? 'name of this scope' : 'identifier of this resource'
    expect(textOf(refused, 'confirm-error')).toBe(`This is not the ${noun}.`)
    expect(alertOf(refused)).toContain(`${textOf(refused, 'confirm-error')} <a href="#confirm">`)
    expect((await page(path, id)).status).toBe(200)
    expect((await page(`${path}/delete`, id)).url).toContain(`/admin${path}?id=`)
  })

  test('is listed page by page, each once', async () => {
    for (let at = 0; at < 60; at++) await save(String(at).padStart(3, '0'))
    const seen: string[] = []
    let list = await page(`${path}s`)
    for (;;) {
      const body = list.body.replaceAll('<wbr>', '')
      const ids = [...body.matchAll(/<th scope="row"><a href="[^"]*"><code>([^<]*)</g)].map(([, id]) => id!)
      expect(ids.length).toBeLessThanOrEqual(50)
      seen.push(...ids)
      const next = /rel="next" href="([^"]*)"/.exec(list.body)?.[1]
      if (next === undefined) break
      list = await agent.get(new URL(next, list.url))
    }
    expect(list.body).toContain('First page')
    expect(seen.length).toBeGreaterThan(60)
    expect(new Set(seen).size).toBe(seen.length)
  }) // prettier-ignore
})

test('other processes forget what was deleted within two seconds', async () => {
  const other = await startServer({ SECRET_KEY: server.settings['SECRET_KEY'] }, { database: server.database })
  await resources.saveResource({ resource: 'https://seen.example/' })
  await resources.saveScope({ name: 'seen', resource: 'https://seen.example/' })
  const { oauth } = other.server
  expect(await oauth.findScope('seen')).toMatchObject({ registered: true, resource: 'https://seen.example/' })
  await agent.submit(await page('/resource', 'https://seen.example/'), 'delete-record', { confirm: 'https://seen.example/' })
  await agent.submit(await page('/scope', 'seen'), 'delete-record', { confirm: 'seen' })
  await expect.poll(async () => (await oauth.findScope('seen')).registered).toBe(false)
  await expect.poll(async () => oauth.findResource('https://seen.example/')).toBeNull()
}) // prettier-ignore

test('tokens for a resource may have to be bound to a key', async () => {
  const resource = 'https://bound.example/'
  await create('/resource', { resource })
  const bound = await agent.submit(await page('/resource', resource), 'record', {
    dpop_bound_access_tokens: 'true',
  })
  expect(findForm(bound, 'record')!.fields).toMatchObject({ dpop_bound_access_tokens: 'true' })
  expect(bound.body).toContain('Always: without a key, the app gets none')
  expect(await resources.findResource(resource)).toEqual({ resource, dpop_bound_access_tokens: true })
  await agent.submit(bound, 'record', { dpop_bound_access_tokens: '' })
  expect(await resources.findResource(resource)).toEqual({ resource })
})
