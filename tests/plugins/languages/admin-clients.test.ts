/** The administration of clients, scopes, resources, keys, deliveries and mail says all of its words by messages, in its states. */
import { beforeAll, expect, test } from 'vitest'
import { startServer } from '../../support/server.ts'
import { getTokens, SEED } from '../../support/sign-in.ts'
import { findForm, type Page, type UserAgent } from '../../support/user-agent.ts'
import { signedIn } from '../account/owner.ts'
import { ROOT } from '../admin/administrator.ts'
import { expectSaid, PSEUDO_HEADERS } from './shown.ts'

const server = await startServer({}, { seed: { ...SEED, users: [...SEED.users, ROOT] } })
const { clients, resources } = server.server.oauth
const API = 'https://books.example/api'
const KNOWN = [
  API,
  server.url,
  'Firefox',
  'Linux',
  'alice',
  'root',
  'web',
  'admin',
  'read_books',
  'read_more',
  'Books',
  'webhook',
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'openid',
  'profile',
  'offline_access',
  'code',
  'app.example',
  'unregistered',
  'com.example.app:/cb',
  'myapp:/cb',
  'myapp:',
  'PKCE',
  'RS256',
  'PS256',
  'EdDSA',
  '#ffcc00',
  '#876c00',
  'myapp://cb',
  'ES256',
  'ES384',
  'ES512',
  'A128CBC-HS256',
  'ML-DSA-44',
  'ML-DSA-65',
  'ID',
  'https://app.example/callback',
]
/** Of keys and deliveries, and where the database is. */
const MADE = /(?<![\w-])[\w-]{43}(?![\w-])|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\/tmp\/\S+/g
let agent: UserAgent

function assertSaid(page: Page, known: readonly string[] = []): void {
  const longestFirst = [...KNOWN, ...known].toSorted((one, other) => other.length - one.length)
  expectSaid({ ...page, body: page.body.replaceAll(MADE, '') }, longestFirst)
}

const open = async (path: string): Promise<Page> => agent.get(`${server.url}/admin${path}`)

beforeAll(async () => {
  await resources.saveResource({ resource: API, name: 'Books' }, { isNew: true })
  await resources.saveScope(
    { name: 'read_more', description: 'Read your books', resource: API },
    { isNew: true },
  )
  await clients.create({
    client_id: 'odd',
    client_name: 'Books',
    redirect_uris: ['myapp://cb'],
    scope: ['unregistered'],
    brand_color: '#ffcc00',
  })
  await getTokens(server, { scope: 'openid offline_access read_books' })
  await server.database.query(
    `insert into outbox (id, kind, payload, tries_until, given_up_at)
      select gen_random_uuid(), 'webhook', 'sealed', now(), now() from generate_series(1, 2)`,
  )
  agent = await signedIn(server, ROOT, PSEUDO_HEADERS)
})

test.each([
  '', '/clients', '/clients?search=we', '/clients?search=nothing', '/clients?after=zzz', '/clients/new', '/clients/new?type=app', '/clients/new?type=service',
  '/client?client_id=web', '/client?client_id=web&saved=yes', '/client?client_id=web&again=yes', '/client?client_id=odd',
  '/client/authorizations?client_id=web', '/client/authorizations?client_id=web&revoked=yes', '/client/authorizations?client_id=odd', '/client/secret?handle=gone',
  '/scopes', '/scopes?after=zzz', '/scopes/new', '/scope?id=read_more', '/scope?id=read_more&saved=yes', '/resources', '/resources/new',
  `/resource?id=${encodeURIComponent(API)}`, '/keys', '/keys?rotated=ES256', '/keys?again=yes', '/deliveries', '/deliveries?retried=yes', '/mail', '/mail?sent=yes',
])('%s', async (path) => {
  assertSaid(await open(path))
}) // prettier-ignore

test.each([
  ['/clients/new', 'client', { redirect_uris: 'https://a.example/\nnot an address\n' }],
  ['/clients/new', 'client', { redirect_uris: 'ftp://a.example/', default_max_age: 'long' }],
  ['/client?client_id=web', 'client', { version: 'old', client_name: 'other' }],
  ['/client?client_id=web', 'delete-client', { confirm_client_id: 'other' }],
  ['/scopes/new', 'record', { name: 'read_more' }],
  ['/scope?id=read_more', 'record', { version: 'old', description: 'other' }],
  ['/scope?id=read_more', 'delete-record', { confirm: 'other' }],
  ['/mail', 'mail-test', { address: 'nobody' }],
] as const)('%s, where %s is refused', async (path, form, typed) => {
  const page = await open(path)
  const { action, fields } = findForm(page, form)!
  const refused = await agent.post(action, { ...fields, ...typed })
  expect(refused.status).toBe(400)
  assertSaid(refused, [
    'other',
    'nobody',
    'ftp',
    'long',
    'not an address',
    'a.example',
    'https://a.example/',
    'ftp://a.example/',
  ])
})

test('a new secret, and what the end of a key ends', async () => {
  const { action, fields } = findForm(await open('/client?client_id=web'), 'rotate-secret')!
  assertSaid(await agent.post(action, fields))
  const [, address = ''] = /href="([^"]*\/keys\/revoke[^"]*)"/.exec((await open('/keys')).body) ?? []
  assertSaid(await agent.get(`${server.url}${address.replaceAll('&amp;', '&')}`))
})
