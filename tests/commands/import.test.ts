/** `import FILE`: what comes of a dump of Django's, by what the command prints and by what then works over HTTP. */
import { expect, test } from 'vitest'
import { djangoClient, djangoHash, djangoUser, RESPONSE_TYPES } from '../support/django.ts'
import { CALLBACK, CODE, importer, PASSWORD, SECRET, SECRETS, storedHash, unique } from '../support/import.ts'
import { runCommandHere } from '../support/command-here.ts'
import { runCommand } from '../support/process.ts'
import { basic } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { answerOf, authorizationUrl, createPkce, goThrough } from '../support/sign-in.ts'
import type { TestDatabase } from '../support/database.ts'
import { dump, findSecrets } from '../support/traces.ts'
import { createUserAgent } from '../support/user-agent.ts'

const server = await startServer()
const { clients, users } = server.server.oauth
const settings = { ...server.settings, LOG_LEVEL: 'error' }
const { write, runImport } = importer(settings)

/** All but what the server beside us notes of its own requests, a second behind them. */
async function storedBy(database: TestDatabase): Promise<string> {
  const noted = await database.query(`select * from audit_events where actor_kind = 'command' order by id`)
  return `${await dump(database, ['activity', 'audit_events'])}\n${JSON.stringify(noted)}`
}

test('a dump is told of by a dry run, which stores nothing, and brought in by the run after it', async () => {
  const file = await write([
    djangoUser('Root', { password: djangoHash(PASSWORD), is_superuser: true, is_staff: true, first_name: 'Ruth', last_name: 'Root', email: 'root@example.com' }),
    djangoUser('left', { is_active: false, password: 'md5$salt$180b0750cbc45c696cfa44683dea6db1' }),
    ...RESPONSE_TYPES,
    djangoClient('123456', { name: 'Shop', client_secret: SECRET, _redirect_uris: `${CALLBACK}\r\nhttps://app.example/other`, _scope: 'read write', response_types: [1, 5] }),
    { model: 'sessions.session', pk: 'x', fields: {} },
  ]) // prettier-ignore
  const before = await storedBy(server.database)
  // In a process of its own: what else might write to stdout there is seen too.
  const dry = await runCommand(['import', file, '--dry-run'], settings)
  expect(await storedBy(server.database)).toBe(before)
  const lines = (created: string) => `record 1 auth.user "Root": ${created}
  a superuser there, and no administrator here without --admins
record 2 auth.user "left": ${created}
  comes without a password: its hash (md5) cannot be read here
record 9 oidc_provider.client "123456": ${created}
  response_types code id_token: stored, but nothing serves it
1 of "sessions.session": ignored
`
  expect(dry).toEqual({
    status: 0,
    stderr: '',
    stdout: `${lines('would be created')}clients: 1 would be created, 0 would be updated, 0 kept, 0 would be refused
users: 2 would be created, 0 would be updated, 0 kept, 0 would be refused
`,
  })
  const real = await runCommandHere(['import', file], settings)
  expect(real).toEqual({
    status: 0,
    stderr: '',
    stdout: `${lines('created')}clients: 1 created, 0 updated, 0 kept, 0 refused
users: 2 created, 0 updated, 0 kept, 0 refused
`,
  })
  expect(await clients.find('123456')).toEqual({
    client_id: '123456',
    client_name: 'Shop',
    redirect_uris: [CALLBACK, 'https://app.example/other'],
    post_logout_redirect_uris: [],
    response_types: ['code', 'code id_token'],
    grant_types: ['authorization_code', 'refresh_token', 'implicit', 'client_credentials'],
    scope: ['read', 'write'],
    require_consent: true,
  })
  expect(await users.find('root')).toMatchObject({
    username: 'Root',
    roles: [],
    disabled: false,
    claims: { given_name: 'Ruth', family_name: 'Root', name: 'Ruth Root', email: 'root@example.com', email_verified: false },
  }) // prettier-ignore
  expect(await users.find('left')).toMatchObject({ claims: {}, disabled: true })
  const imported = await storedBy(server.database)
  expect(findSecrets(imported, SECRETS)).toEqual([])
  expect(await runCommandHere(['import', file], settings)).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('clients: 0 created, 0 updated, 1 kept') as unknown,
  })
  expect(await storedBy(server.database)).toBe(imported)
})

test('whoever comes from there signs in with the old password, once by its hash and then by ours', async () => {
  const [username, client_id] = [unique('ann'), unique('shop')]
  const hash = djangoHash(PASSWORD)
  const records = [djangoUser(username, { password: hash }), ...RESPONSE_TYPES, djangoClient(client_id, CODE)]
  expect(await runImport(records)).toMatchObject({ status: 0, users: { create: 1 }, clients: { create: 1 } })
  expect(await storedHash(server.database, username)).toBe(hash)
  const signIn = async (password: string) => {
    const agent = createUserAgent(server.url)
    const page = await agent.get(authorizationUrl(server, { client_id, redirect_uri: CALLBACK }))
    return goThrough(agent, page, { username, password })
  }
  await expect(signIn('another horse battery')).rejects.toThrow('the pages do not end')
  expect(await storedHash(server.database, username)).toBe(hash)
  const code = answerOf(await signIn(PASSWORD)).get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK }
  expect((await server.post('/token', form, basic(client_id, SECRET))).status).toBe(200)
  await expect.poll(() => storedHash(server.database, username)).toMatch(/^\$argon2id\$v=19\$/)
  expect(answerOf(await signIn(PASSWORD)).get('code')).toBeTruthy()
})

test('a secret goes on working, by Basic and in the form, and no other does', async () => {
  const client_id = unique('service')
  await runImport([
    djangoClient(client_id, { client_secret: SECRET, _scope: 'read\nwrite', response_types: [] }),
  ])
  const form = { grant_type: 'client_credentials' }
  const ask = async (secret: string) => [
    (await server.post('/token', form, basic(client_id, secret))).status,
    (await server.post('/token', { ...form, client_id, client_secret: secret })).status,
  ]
  expect(await ask(SECRET)).toEqual([200, 200])
  expect(await ask(SECRET.toUpperCase())).toEqual([401, 401])
})

test('a public client comes without a secret, and signs people in by PKCE', async () => {
  const [username, client_id] = [unique('ann'), unique('spa')]
  const fields = { client_type: 'public', client_secret: SECRET, _redirect_uris: CALLBACK }
  const { records } = await runImport([
    djangoUser(username, { password: djangoHash(PASSWORD) }),
    ...RESPONSE_TYPES,
    djangoClient(client_id, fields),
  ])
  expect(records.at(-1)).toMatchObject({
    action: 'create',
    notes: ['client_secret is not taken over: a public client has none'],
  })
  expect(await clients.find(client_id)).toMatchObject({
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
  })
  const { verifier, challenge } = createPkce()
  const parameters = {
    client_id,
    redirect_uri: CALLBACK,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  }
  const agent = createUserAgent(server.url)
  const page = await goThrough(agent, await agent.get(authorizationUrl(server, parameters)), {
    username,
    password: PASSWORD,
  })
  const form = {
    grant_type: 'authorization_code',
    client_id,
    redirect_uri: CALLBACK,
    code_verifier: verifier,
  }
  expect((await server.post('/token', { ...form, code: answerOf(page).get('code')! })).status).toBe(200)
})

test('a second run leaves alone who is here; --update lays the file over them, and then has nothing to do', async () => {
  const [username, client_id] = [unique('ann'), unique('shop')]
  const hash = djangoHash(PASSWORD)
  await runImport([djangoUser(username, { password: djangoHash('former password') }), djangoClient(client_id, { client_secret: 'former', _scope: 'read', response_types: [] })]) // prettier-ignore
  await users.update(username, { roles: ['editor'], nickname: 'Annie' })
  const records = [
    djangoUser(username, { password: hash, first_name: 'Ann', is_superuser: true }),
    djangoClient(client_id, { client_secret: SECRET, _scope: 'read write', response_types: [] }),
  ]
  const before = await storedBy(server.database)
  const keep = ['keep', ['is here already']]
  const summary = async (...options: string[]) => {
    const { status, records: told } = await runImport(records, ...options)
    expect(status).toBe(0)
    return told.map(({ action, notes }) => [action, notes])
  }
  expect(await summary()).toEqual([keep, keep])
  expect(await summary('--update', '--admins', '--dry-run')).toEqual([['update', []], ['update', []]]) // prettier-ignore
  expect(await storedBy(server.database)).toBe(before)
  expect(await summary('--update', '--admins')).toEqual([['update', []], ['update', []]]) // prettier-ignore
  expect(await users.find(username)).toMatchObject({
    roles: ['editor', 'admin'],
    claims: { nickname: 'Annie', given_name: 'Ann', name: 'Ann' },
  })
  expect(await storedHash(server.database, username)).toBe(hash)
  expect(await clients.find(client_id)).toMatchObject({ scope: ['read', 'write'] })
  const form = { grant_type: 'client_credentials', scope: 'write' }
  await expect
    .poll(async () => (await server.post('/token', form, basic(client_id, SECRET))).status)
    .toBe(200)
  // What was told of by mail is on its way no more.
  await expect.poll(async () => (await server.database.query('select from outbox')).length).toBe(0)
  const after = await storedBy(server.database)
  expect(await summary('--update', '--admins')).toEqual([['keep', []], ['keep', []]]) // prettier-ignore
  expect(await storedBy(server.database)).toBe(after)
})

test('--update takes no password away that was used here, and lets nobody in who was locked out here', async () => {
  const [username, locked] = [unique('ann'), unique('locked')]
  const records = [djangoUser(username, { password: djangoHash(PASSWORD) }), djangoUser(locked)]
  await runImport(records)
  await users.setPassword(username, 'chosen here since')
  await users.disable(locked)
  expect((await runImport(records, '--update')).records).toMatchObject([
    { action: 'keep', notes: [] },
    { action: 'keep', notes: ['is disabled here, and stays so'] },
  ])
  expect(await users.authenticate(username, 'chosen here since')).not.toBeNull()
  const away = [djangoUser(username, { is_active: false })]
  expect((await runImport(away, '--update')).records).toMatchObject([{ action: 'update' }])
  expect(await users.find(username)).toMatchObject({ disabled: true })
})

test('--update leaves an address confirmed that was confirmed here, and lays another one over it', async () => {
  const [username, other] = [unique('ann'), unique('bob')]
  const records = [username, other].map((name) => djangoUser(name, { email: `${name}@Example.com` }))
  await runImport(records)
  const confirmed = { email: `${username}@example.com`, email_verified: true }
  await users.update(username, confirmed)
  await users.update(other, { email: 'changed@example.com', email_verified: true })
  expect((await runImport(records, '--update')).records).toMatchObject([
    { action: 'keep', notes: [] },
    { action: 'update', notes: [] },
  ])
  expect((await users.find(username))!.claims).toEqual(confirmed)
  const spelt = { email: `${username}@xn--bcher-kva.example`, email_verified: true }
  await users.update(username, spelt)
  const otherwise = [djangoUser(username, { email: `${username}@bücher.example` })]
  expect((await runImport(otherwise, '--update')).records).toMatchObject([{ action: 'keep' }])
  expect((await users.find(username))!.claims).toEqual(spelt)
  expect((await users.find(other))!.claims).toEqual({ email: `${other}@Example.com`, email_verified: false })
})

test('no secret is in the database or the log', async () => {
  expect(findSecrets(`${PASSWORD} ${SECRET}`, SECRETS)).toEqual(
    expect.arrayContaining(['password (raw)', 'secret (raw)']),
  )
  expect(findSecrets(await storedBy(server.database), SECRETS)).toEqual([])
  expect(findSecrets(server.output(), SECRETS)).toEqual([])
})
