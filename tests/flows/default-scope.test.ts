/** A client with `default_scope`: what its requests without a scope are for, by every way of registering it. */
import { expect, test } from 'vitest'
import { commandsHere } from '../support/command-here.ts'
import { exchangeAs } from '../support/code-flow.ts'
import { startServer } from '../support/server.ts'
import { toClient } from '../support/service.ts'
import { authorize, SEED, WEB } from '../support/sign-in.ts'
import { openClient, register, ROOT, signedIn } from '../plugins/admin/administrator.ts'

const assistant = { ...WEB, client_id: 'seeded', default_scope: 'openid read_books' }
const seed = { ...SEED, users: [...SEED.users, ROOT], clients: [WEB, assistant] }
const server = await startServer({}, { seed })
const { clients } = server.server.oauth
const { runJson } = commandsHere({ ...server.settings, LOG_LEVEL: 'error' }, 'client')
const { client_id: _id, ...members } = { ...WEB, default_scope: ['openid', 'read_books'] }

/** The scopes that a request without any is granted, or the error. */
async function grantedTo(client_id: string, scope?: string): Promise<string | null> {
  const answer = await authorize(server, { client_id, scope })
  const code = answer.get('code')
  if (code === null) return answer.get('error')
  return (await exchangeAs(server, toClient({ ...WEB, client_id }), code)).tokens.scope
}

test('a request without a scope is for those, told with the tokens; one with a scope is for its own', async () => {
  expect(await grantedTo('seeded')).toBe('openid read_books')
  expect(await grantedTo('seeded', 'openid email')).toBe('openid email')
  expect(await grantedTo('web')).toBe('invalid_scope')
})

test('from code, as a list or as text; it is changed, and taken away', async () => {
  await clients.create({ ...members, client_id: 'from-code' })
  expect(await grantedTo('from-code')).toBe('openid read_books')
  await clients.update('from-code', { default_scope: 'read_books profile' })
  expect(await clients.find('from-code')).toMatchObject({ default_scope: ['read_books', 'profile'] })
  expect(await grantedTo('from-code')).toBe('read_books profile')
  await clients.update('from-code', { default_scope: null })
  expect(await grantedTo('from-code')).toBe('invalid_scope')
})

test('on the command line', async () => {
  const created = await runJson(
    'create', '--client-id', 'typed', '--client-secret', WEB.client_secret, '--redirect-uris', WEB.redirect_uri,
    '--scope', 'read_books', '--default-scope', 'openid read_books',
  ) // prettier-ignore
  expect(created).toMatchObject({ default_scope: ['openid', 'read_books'] })
  expect(await grantedTo('typed')).toBe('openid read_books')
})

test('on the administration page, where it is read back and taken away', async () => {
  const agent = await signedIn(server)
  const given = { client_id: 'clicked', redirect_uris: WEB.redirect_uri, scope: 'read_books', default_scope: 'openid  read_books' } // prettier-ignore
  expect((await register(server, agent, 'app', given)).status).toBe(200)
  expect(await clients.find('clicked')).toMatchObject({ default_scope: ['openid', 'read_books'] })
  const page = await openClient(server, agent, 'clicked')
  expect(page.body).toContain('value="openid read_books"')
  await agent.submit(page, 'client', { default_scope: '' })
  expect(await clients.find('clicked')).not.toHaveProperty('default_scope')
})

test('it gives no scope that the client may not have, and with none left there is no code', async () => {
  await clients.create({ ...members, client_id: 'greedy', default_scope: ['openid', 'write_books', 'admin'] })
  expect(await grantedTo('greedy')).toBe('openid')
  await clients.create({ ...members, client_id: 'empty', default_scope: ['write_books'] })
  expect(await grantedTo('empty')).toBe('invalid_scope')
  for (const default_scope of [['a b'], ['"'], 7, [7]])
    await expect(clients.create({ ...members, client_id: 'wrong', default_scope })).rejects.toThrow(
      'default_scope',
    )
})

test('a request for no person is not concerned: what a service gets is its own list', async () => {
  await clients.create({ ...members, client_id: 'service', scope: ['read_books'], default_scope: ['openid'] })
  const form = { grant_type: 'client_credentials' }
  const response = await server.post('/token', form, toClient({ ...WEB, client_id: 'service' }).basic)
  expect(await response.json()).toMatchObject({ scope: 'read_books' })
})
