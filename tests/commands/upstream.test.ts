/** Upstreams as registered objects: by the command line, by SEED_FILE, in the database, in other processes, under another SECRET_KEY. */
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { commandsHere, runCommandHere } from '../support/command-here.ts'
import { createDatabase } from '../support/database.ts'
import { startServer, type TestServer } from '../support/server.ts'

const ISSUER = 'https://id.corp.example'
const SECRET = 'what corp gave us, as a secret'
const CORP = {
  id: 'corp',
  issuer: ISSUER,
  client_id: 'latchkey',
  name: 'Corp',
  scope: ['openid', 'email'],
  domains: ['corp.example', 'xn--bcher-kva.example'],
  trust_email: true,
  sign_up: false,
  button: false,
  claims: { email: 'mail', preferred_username: 'upn' },
}
const TYPED = {
  '--issuer': ISSUER,
  '--client-id': 'latchkey',
  '--client-secret': SECRET,
  '--name': 'Corp',
  '--scope': 'openid email',
  '--domains': '@Corp.Example, bücher.example',
  '--trust-email': 'true',
  '--sign-up': 'false',
  '--button': 'false',
  '--claims': 'email=mail preferred_username=upn',
}
const server = await startServer(
  {},
  { seed: { upstreams: [{ ...CORP, id: 'file', client_secret: SECRET }] } },
)
const settings = { ...server.settings, LOG_LEVEL: 'error' }
const upstream = commandsHere(settings, 'upstream')
const upstreamsOf = ({ server: app }: TestServer) => kernelOf(app).upstreams
const secretOf = async (of: TestServer, id: string) =>
  (await upstreamsOf(of).all()).find((one) => one.id === id)?.secret()

test('one is registered, shown, changed and deleted, and a running server knows it', async () => {
  const args = Object.entries(TYPED).flat()
  expect(await upstream.runJson('create', 'corp', ...args)).toEqual(CORP)
  expect(await upstream.runJson('show', 'corp')).toEqual(CORP)
  await expect.poll(async () => secretOf(server, 'corp')).toBe(SECRET)
  expect(await upstream.run('list')).toBe(`corp  ${ISSUER}  Corp\nfile  ${ISSUER}  Corp\n`)
  const { name: _name, button: _button, ...rest } = CORP
  expect(await upstream.runJson('update', 'corp', '--name', '', '--button', '', '--client-secret', 'another one')).toEqual(rest)
  await expect.poll(async () => secretOf(server, 'corp')).toBe('another one')
  expect(await upstream.runJson('delete', 'corp', '--yes')).toEqual({ id: 'corp', deleted: true })
  await expect.poll(async () => (await upstreamsOf(server).all()).map(({ id }) => id)).toEqual(['file'])
}) // prettier-ignore

test('who did it, and what was before, stands in the audit log; of the secret only that it changed', async () => {
  const { events } = await server.server.oauth.audit.list({ limit: 100 } as object)
  const told = events.filter(({ type, actor }) => type.startsWith('upstream.') && actor.kind === 'command')
  expect(told.map(({ type, details }) => [type, details])).toMatchObject([
    ['upstream.deleted', { upstream: 'corp' }],
    ['upstream.changed', { upstream: 'corp', secret: true, changes: { name: ['Corp', null], button: [false, null] } }],
    ['upstream.registered', { upstream: 'corp', secret: true, changes: { issuer: [null, ISSUER] } }],
  ])
  for (const text of [JSON.stringify(events), server.output()]) expect(text).not.toContain(SECRET)
}) // prettier-ignore

test('of GitHub, a client is enough; of OAuth 2.0 alone, its endpoints are registered', async () => {
  const github = { id: 'github', kind: 'github', issuer: 'https://github.com/login/oauth', client_id: 'us' }
  const typed = ['--kind', 'github', '--client-id', 'us', '--client-secret', SECRET]
  expect(await upstream.runJson('create', 'github', ...typed)).toEqual(github)
  const plain = {
    id: 'plain',
    kind: 'oauth2',
    issuer: 'https://code.example',
    client_id: 'us',
    authorization_endpoint: 'https://code.example/authorize',
    token_endpoint: 'https://code.example/token',
    userinfo_endpoint: 'https://api.code.example/me?fields=id,name',
    token_endpoint_auth_method: 'client_secret_post',
    subject_claim: 'id',
    scope: ['identify'],
  }
  const args = Object.entries(plain).flatMap(([name, value]) =>
    name === 'id' ? [] : [`--${name.replaceAll('_', '-')}`, String(value)],
  )
  expect(await upstream.runJson('create', 'plain', ...args)).toEqual(plain)
  for (const id of ['github', 'plain']) await upstream.run('delete', id, '--yes')
})

test('its secret is encrypted at rest, for it alone', async () => {
  const [row] = await server.database.query('select client_secret from upstreams')
  expect(String(row!['client_secret'])).not.toContain(SECRET)
  expect(JSON.stringify(await server.database.query('select * from upstreams'))).not.toContain(SECRET)
  await server.database.query(
    `insert into upstreams (id, issuer, client_id, client_secret) select 'moved', issuer, client_id, client_secret from upstreams`,
  )
  await server.database.query(`insert into changes (id, kind, key) values (gen_random_uuid(), 'upstream', 'moved')`)
  await expect.poll(async () => (await upstreamsOf(server).all()).map(({ id }) => id)).toContain('moved')
  await expect(secretOf(server, 'moved')).rejects.toThrow('cannot be decrypted')
  await upstreamsOf(server).delete('moved')
}) // prettier-ignore

test('SECRET_KEY is replaced in two starts', async () => {
  const database = await createDatabase()
  const seed = { upstreams: [{ ...CORP, client_secret: SECRET }] }
  const { close, settings: before } = await startServer({ SECRET_KEY: 'f'.repeat(40) }, { seed, database })
  await close()
  const again = async (SECRET_KEY: string) => {
    const started = await startServer({ ...before, SECRET_KEY }, { database })
    const secret = await secretOf(started, 'corp')
    await started.close()
    return secret
  }
  const fresh = randomBytes(32).toString('hex')
  expect([await again(`${fresh},${'f'.repeat(40)}`), await again(fresh)]).toEqual([SECRET, SECRET])
})

test('the file says of a secret what counts at creation, and when its own value changed', async () => {
  const database = await createDatabase()
  const seed = { upstreams: [{ ...CORP, client_secret: SECRET }] }
  const started = await startServer({}, { seed, database })
  const { settings: same } = started
  await upstreamsOf(started).save({ id: 'corp', client_secret: 'rotated here', name: 'Renamed' })
  await started.close()
  const second = await startServer(same, { database })
  expect([await secretOf(second, 'corp'), (await upstreamsOf(second).find('corp'))!.name]).toEqual([
    'rotated here',
    'Renamed',
  ])
  await second.close()
  const said = { upstreams: [{ ...CORP, client_secret: 'rotated in the file', nonsense: 1 }] }
  await writeFile(String(same['SEED_FILE']), JSON.stringify(said))
  const third = await startServer(same, { database })
  expect([await secretOf(third, 'corp'), (await upstreamsOf(third).find('corp'))!.name]).toEqual([
    'rotated in the file',
    'Renamed',
  ])
  expect(third.output()).toContain('SEED_FILE: unknown member')
  const told = await third.server.oauth.audit.list({ type: 'upstream.changed' })
  expect(told.events.map(({ actor, details }) => [actor.kind, details])).toEqual([
    ['seed', { upstream: 'corp', changes: {}, secret: true }],
    ['server', { upstream: 'corp', changes: { name: ['Corp', 'Renamed'] }, secret: true }],
  ])
})

test.each([
  [['create', 'Corp', '--issuer', ISSUER], 'id must have 1 to 63 small letters, digits and hyphens.'],
  [['create', 'one', '--client-id', 'a'], 'issuer is missing.'],
  [['create', 'one', '--issuer', ISSUER], 'client_id is missing.'],
  [['create', 'one', '--issuer', 'id.corp.example'], 'issuer must be an https address without a query and a fragment.'],
  [['create', 'one', '--issuer', `${ISSUER}?a=b`], 'issuer must be an https address without a query and a fragment.'],
  [['create', 'file'], 'id is already registered: `upstream update file` changes it.'],
  [['update', 'one', '--name', 'a'], 'id is not registered: `latchkey upstream list` says what is.'],
  [['create', 'one', '--client-id', 'a', '--issuer', server.url], 'issuer is this server itself: name that of somebody else.'],
  [['update', 'file', '--issuer', `${server.url}/`], 'issuer is this server itself: name that of somebody else.'],
  [['update', 'file', '--domains', 'no-domain'], 'domains must be names such as example.com.'],
  [['update', 'file', '--domains', ''], 'trust_email needs domains: those whose addresses are believed.'],
  [['update', 'file', '--trust-email', '', '--domains', ''], 'button can only be left out with domains, by which people find it.'],
  [['update', 'file', '--scope', 'email'], 'scope must be scope names, openid among them.'],
  [['update', 'file', '--claims', 'password=hash'], 'claims must begin with names of standard claims, such as email.'],
  [['update', 'file', '--claims', 'email'], 'claims must be pairs such as email=mail.'],
  [['update', 'file', '--claims', 'email=mail,email=upn'], 'claims names email twice: leave one of them.'],
  [['update', 'file', '--claims', '{"email":"mail","email":"upn"}'], 'claims names email twice: leave one of them.'],
  [['create', 'one', '--kind', 'saml', '--client-id', 'a'], 'kind must be one of openid, oauth2, github, apple.'],
  [['create', 'one', '--kind', 'oauth2', '--client-id', 'a', '--issuer', ISSUER], 'authorization_endpoint is missing: an upstream of the kind oauth2 has no metadata that says it.'],
  [['update', 'file', '--sign-up', 'maybe'], 'sign_up must be true or false.'],
  [['delete', 'one', '--yes'], 'id is not registered: `latchkey upstream list` says what is.'],
])('%j is refused in one sentence, and changes nothing', async (args, sentence) => {
  const before = await upstreamsOf(server).list()
  const { status, stdout, stderr } = await runCommandHere(['upstream', ...args], settings)
  expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: '', stderr: `${sentence}\n` })
  expect(await upstreamsOf(server).list()).toEqual(before)
}) // prettier-ignore

test('two at once that register the same: one does', async () => {
  const one = { id: 'raced', issuer: ISSUER, client_id: 'a' }
  const both = await Promise.allSettled(
    [1, 2].map(async () => upstreamsOf(server).save(one, { isNew: true })),
  )
  expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
})
