/** `import FILE`, record by record: what is made of each, what is said of it, and which are refused. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { runCommandHere } from '../support/command-here.ts'
import { djangoClient, djangoHash, djangoUser, RESPONSE_TYPES } from '../support/django.ts'
import { CALLBACK, CODE, importer, PASSWORD, SECRET, storedHash, unique } from '../support/import.ts'
import { startServer } from '../support/server.ts'

const server = await startServer()
const { clients, users } = server.server.oauth
const settings = { ...server.settings, LOG_LEVEL: 'error' }
const { write, runImport, notesOf } = importer(settings)

const CLIENTS: readonly [string, Record<string, unknown>, string[], Record<string, unknown>][] = [
  ['nothing to say', {}, [], { response_types: ['code'], require_consent: true }],
  ['no consent', { require_consent: false }, [], { require_consent: false }],
  [
    'no consent on the device',
    { require_consent: false, _redirect_uris: 'http://localhost:3000/cb' },
    ['require_consent must not be false for a client with a redirect to the device itself: not taken over'],
    { redirect_uris: ['http://localhost:3000/cb'] },
  ],
  [
    'HS256',
    { jwt_alg: 'HS256' },
    ['jwt_alg HS256 is not supported: its ID tokens are signed RS256, by the keys at jwks_uri'],
    {},
  ],
  [
    'consent asked each time',
    { reuse_consent: false },
    ['reuse_consent false is not supported: what a user allowed is remembered'],
    {},
  ],
  [
    'what describes it',
    {
      website_url: 'https://app.example',
      terms_url: 'https://app.example/privacy',
      contact_email: 'a@example.com',
      logo: 'oidc_provider/clients/a.png',
    },
    ['logo is a file there: set logo_uri'],
    {
      client_uri: 'https://app.example',
      policy_uri: 'https://app.example/privacy',
      contacts: ['a@example.com'],
    },
  ],
  [
    'what describes it badly',
    { website_url: 'app.example' },
    ['client_uri must be an absolute http or https URL without a fragment: not taken over'],
    {},
  ],
  ['no secret', { client_secret: '' }, ['has no secret: client rotate-secret gives it one'], {}],
  [
    'no redirect',
    { _redirect_uris: '', _scope: 'read' },
    ['response_types are not taken over: there is no redirect URI'],
    { response_types: [], grant_types: ['client_credentials'] },
  ],
  [
    'words',
    { _redirect_uris: `${CALLBACK} https://b.example/` },
    [],
    { redirect_uris: [CALLBACK, 'https://b.example/'] },
  ],
  [
    'sign-out',
    { _post_logout_redirect_uris: `${CALLBACK}\n` },
    [],
    { post_logout_redirect_uris: [CALLBACK] },
  ],
  [
    'flows that nothing serves',
    { response_types: [2, 6] },
    ['id_token', 'code id_token token'].map(
      (type) => `response_types ${type}: stored, but nothing serves it`,
    ),
    { response_types: ['id_token', 'code id_token token'] },
  ],
  ['natural keys', { response_types: [['code']] }, [], { response_types: ['code'] }],
  ['an old version', { response_types: null, response_type: 'code' }, [], { response_types: ['code'] }],
]

test('what is said of each client, and what becomes of it', async () => {
  const ids = CLIENTS.map(([name]) => unique(name.replaceAll(' ', '-')))
  const made = CLIENTS.map(([, fields], at) => djangoClient(ids[at]!, { ...CODE, ...fields }))
  // Clients may stand before what they name.
  const records = [...made, ...RESPONSE_TYPES]
  const expected = CLIENTS.map(([, , notes], at) => ({ name: ids[at], action: 'create', notes }))
  expect((await runImport(records, '--dry-run')).records).toMatchObject(expected)
  for (const id of ids) expect(await clients.find(id)).toBeNull()
  expect((await runImport(records)).records).toMatchObject(expected)
  for (const [at, [, , , members]] of CLIENTS.entries())
    expect(await clients.find(ids[at]!)).toMatchObject(members)
})

test('superusers are administrators only where that was asked for, and staff never', async () => {
  const [root, staff] = [unique('root'), unique('staff')]
  const records = [djangoUser(root, { is_superuser: true }), djangoUser(staff, { is_staff: true })]
  expect((await runImport(records, '--admins')).records.map(({ notes }) => notes)).toEqual([[], []])
  expect((await users.find(root))?.roles).toEqual(['admin'])
  expect((await users.find(staff))?.roles).toEqual([])
})

test.for([
  ['bcrypt_sha256$$2b$12$abcdefghijklmnopqrstuv', 'bcrypt_sha256'],
  [djangoHash(PASSWORD).replace('$1000$', '$99000000$'), 'pbkdf2_sha256'],
  // Whatever that is, it may be a password.
  [PASSWORD, 'an unknown form'],
])('a password that cannot be read stays away, and is named: %s', async ([password, form]) => {
  const username = unique('unread')
  expect(await notesOf([djangoUser(username, { password })])).toEqual([
    `comes without a password: its hash (${form}) cannot be read here`,
  ])
  expect(await storedHash(server.database, username)).toBeNull()
})

const BAD: readonly [object, string][] = [
  [{ model: 'auth.user' }, 'model or fields is missing'],
  [{ fields: {} }, 'model or fields is missing'],
  [djangoUser('', {}), 'username must not be empty'],
  [djangoUser(unique('x'), { username: undefined }), 'username is missing'],
  [djangoUser(unique('x'), { username: 7 }), 'username must be a text'],
  [djangoUser('a\u009b2Jb'), 'username must not hold control characters or broken Unicode'],
  [djangoUser(unique('x'), { is_active: 'yes' }), 'is_active must be true or false'],
  [djangoUser(unique('x'), { email: 'x'.repeat(300) }), 'email must not have more than 256 characters'],
  [djangoUser(unique('x'), { password: [SECRET] }), 'password must be a text'],
  [djangoClient(unique('x'), { client_id: undefined }), 'client_id is missing'],
  [djangoClient('a\0b'), 'client_id must not hold NUL or broken Unicode'],
  [djangoClient(unique('x'), { client_type: SECRET }), 'client_type must be confidential or public'],
  [djangoClient(unique('x'), { jwt_alg: 'none' }), 'jwt_alg must be RS256 or HS256'],
  [
    djangoClient(unique('x'), { client_secret: `${SECRET}\0` }),
    'client_secret must not hold NUL or broken Unicode',
  ],
  [
    djangoClient(unique('x'), { _redirect_uris: 'https://a.example/#x' }),
    'redirect_uris must not have a fragment',
  ],
  [djangoClient(unique('x'), { response_types: 1 }), 'response_types must be a list'],
  [djangoClient(unique('x'), { response_types: [7] }), 'response_types names what is not in this file'],
  [djangoClient(unique('x'), { response_types: [{}] }), 'response_types names what is not in this file'],
  [
    djangoClient(unique('x'), { ...CODE, response_types: [['teapot']] }),
    'response_types names teapot, which no plugin serves here',
  ],
  [djangoClient(unique('x'), { _scope: 'a"b', response_types: [] }), 'scope must hold scope names'],
  [{ model: 'oidc_provider.responsetype', pk: 9, fields: {} }, 'value is missing'],
]

test('bad records are refused by their numbers and fields, and the others apply', async () => {
  const good = unique('good')
  const records = [...RESPONSE_TYPES, ...BAD.map(([record]) => record), djangoUser(good)]
  const first = RESPONSE_TYPES.length + 1
  const numbers = BAD.map((_, at) => first + at)
  for (const options of [['--dry-run'], []]) {
    const { status, stderr, records: told } = await runImport(records, ...options)
    const summary = `${BAD.length} of ${records.length} records were refused.\n`
    expect({ status, stderr }).toEqual({ status: 1, stderr: summary })
    expect(told).toMatchObject([
      ...BAD.map(([, reason], at) => ({
        record: numbers[at],
        action: 'refuse',
        notes: [expect.stringContaining(reason) as string],
      })),
      { record: records.length, name: good, action: 'create' },
    ])
  }
  expect(await users.find(good)).not.toBeNull()
  const text = await runCommandHere(['import', await write(records), '--dry-run'], settings)
  for (const number of numbers) expect(text.stdout).toMatch(new RegExp(`record ${number}\\b`))
  expect(text.stdout).not.toMatch(/[^\P{C}\n]/u)
})

test('of two records with one name, the second is refused', async () => {
  const [name, client_id] = [unique('Bob'), unique('twice')]
  const records = [
    djangoUser(name),
    djangoUser(name.toLowerCase()),
    djangoClient(client_id, { response_types: [] }),
    djangoClient(client_id, { response_types: [] }),
  ]
  for (const options of [['--dry-run'], []])
    expect((await runImport(records, ...options)).records).toMatchObject([
      { action: 'create' },
      { action: 'refuse', notes: ['username is that of record 1'] },
      { action: 'create' },
      { action: 'refuse', notes: ['client_id is that of record 3'] },
    ])
})

test.for<[string, string]>([
  ['{', 'is not a JSON list of records'],
  ['', 'is not a JSON list of records'],
  [`{"client_secret": "${SECRET}"}`, 'is not a JSON list of records'],
  [`[{"client_secret": "${SECRET}"`, 'is not a JSON list of records'],
])('what is no dump is refused in one sentence: %s', async ([content, reason]) => {
  const file = await write(content)
  const told = await runCommandHere(['import', file], settings)
  expect(told).toEqual({
    status: 1,
    stdout: '',
    stderr: `${file} ${reason}, as Django's dumpdata writes it.\n`,
  })
})

test('a file that is not there is named', async () => {
  const file = join(await temporaryDirectory(), 'nowhere.json')
  const told = await runCommandHere(['import', file], settings)
  expect(told).toEqual({ status: 1, stdout: '', stderr: `${file} cannot be read (ENOENT).\n` })
})
