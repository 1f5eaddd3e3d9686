/** What the administration says at a field that it refuses is in the language of who reads it: none of it is the English of another. */
import { expect, test } from 'vitest'
import { startServer } from '../../support/server.ts'
import { rowsWith } from '../../support/left-out.ts'
import { SEED } from '../../support/sign-in.ts'
import { findForm, type UserAgent } from '../../support/user-agent.ts'
import { signedIn } from '../account/owner.ts'
import { ROOT } from '../admin/administrator.ts'

const API = 'https://books.example/api'
const there = { id: 'there', issuer: 'https://id.example', client_id: 'us' }
const uris = ['https://app.example/cb']
const jwks = { keys: [{ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }] }
/** Apps that keep a profile, which no form changes. */
const held = [
  { client_id: 'modern', redirect_uris: uris, profile: 'oauth-2.1' },
  ...rowsWith('latchkey-fapi-2.0', [{ client_id: 'bank', redirect_uris: uris, profile: 'fapi-2.0', token_endpoint_auth_method: 'private_key_jwt', jwks }]),
] // prettier-ignore
const server = await startServer({}, { seed: { ...SEED, clients: [...SEED.clients, ...held], users: [...SEED.users, ROOT], resources: [{ resource: API, name: 'Books', scopes: ['read_api'] }], upstreams: [there] } }) // prettier-ignore
const readers = await Promise.all(
  ['en', 'de', 'es'].map(async (tag) => signedIn(server, ROOT, { 'accept-language': tag })),
)

type Case = readonly [path: string, form: string, typed: Readonly<Record<string, string>>]

async function said(agent: UserAgent, [path, form, typed]: Case): Promise<string[]> {
  const { action, fields } = findForm(await agent.get(`${server.url}/admin${path}`), form)!
  const { status, body } = await agent.post(action, { ...fields, ...typed })
  expect([path, typed, status]).toEqual([path, typed, 400])
  return [...body.matchAll(/<p class="problem" id="[^"]*"[^>]*>([^<]*)/g)].map(([, text = '']) =>
    text.replaceAll(/ (?:and|und|y) /g, ', '),
  )
}

const upstream = { ...there, id: 'new' }
const cases: readonly Case[] = [
  ...[{ redirect_uris: '' }, { client_id: 'read_books' }, { client_id: 'openid' }, { client_id: 'token_introspection' }, { client_id: 'web' }, { grant_types: 'made_up' }, { token_endpoint_auth_method: 'none', grant_types: 'client_credentials' }, { scope: 'b"d' }, { client_uri: 'nowhere' }, { jwks: '{}' }, { optional_scopes: 'openid' }, { backchannel_logout_uri: 'http://app.example/out', token_endpoint_auth_method: 'none' }]
    .map((typed): Case => ['/clients/new', 'client', { client_name: 'New', redirect_uris: 'https://app.example/cb', ...typed }]),
  ...rowsWith('latchkey-private-key-jwt', [['/clients/new', 'client', { redirect_uris: 'https://app.example/cb', token_endpoint_auth_method: 'private_key_jwt' }] satisfies Case]),
  ...rowsWith('latchkey-token-exchange', [{ subject_client: ['web'] }, { subject_clients: ['web'], made_up: true }, { subject_clients: [] }, { subject_clients: 'web' }, { subject_clients: ['web'], audiences: ['https://chat.example'] }]
    .map((rule): Case => ['/clients/new', 'client', { redirect_uris: 'https://app.example/cb', token_exchange: JSON.stringify([{ resources: [API], ...rule }]) }])),
  ...rowsWith('latchkey-token-exchange', [['/clients/new', 'client', { client_id: 'jag', redirect_uris: 'https://app.example/cb', subject_type: 'pairwise', token_exchange: JSON.stringify([{ subject_clients: ['jag'], audiences: ['https://chat.example'], resources: [API] }]) }] satisfies Case]),
  ['/client?client_id=modern', 'client', { grant_types: 'authorization_code implicit' }],
  ...rowsWith('latchkey-fapi-2.0', [{ token_endpoint_auth_method: '' }, { redirect_uris: 'http://localhost/cb' }, { grant_types: 'authorization_code urn:openid:params:grant-type:ciba' }]
    .map((typed): Case => ['/client?client_id=bank', 'client', typed])),
  ...[{ name: '' }, { name: 'a b' }, { name: 'read_books' }, { name: 'web' }, { name: 'token_introspection' }, { name: 'new', resource: 'https://nowhere.example' }, { name: 'new', description: 'x'.repeat(2049) }]
    .map((typed): Case => ['/scopes/new', 'record', typed]),
  ...[{ resource: 'nowhere' }, { resource: API }, { aliases: 'nowhere' }, { aliases: 'https://a.example\nhttps://a.example/' }, { aliases: 'https://new.example/' }, { aliases: server.url }, { access_token_lifetime: '-1' }]
    .map((typed): Case => ['/resources/new', 'record', { resource: 'https://new.example', ...typed }]),
  ...rowsWith('latchkey-upstreams', [{ id: 'NEW' }, { id: 'there' }, { issuer: '' }, { issuer: 'nowhere' }, { client_id: '' }, { name: 'x'.repeat(300) }, { scope: 'email' }, { domains: 'nothing at all!' }, { claims: 'email' }, { claims: 'made_up=mail' }, { claims: 'email=a email=b' }, { trust_email: 'true' }, { button: 'false' }]
    .map((typed): Case => ['/upstreams/new', 'record', { ...upstream, ...typed }])),
  ...[{ issuer: '' }, { issuer: 'nowhere' }, { issuer: 'https://id.example', jwks: '{}' }, { issuer: 'https://id.example', jwks: '{"keys":[{}]}' }]
    .map((typed): Case => ['/trusted-issuers/new', 'record', typed]),
] // prettier-ignore

test.each(cases)('%s, %s: %j', async (...one) => {
  const [english = [], ...others] = await Promise.all(readers.map((agent) => said(agent, one)))
  expect(english.length).toBeGreaterThan(0)
  for (const words of others) {
    expect(words).toHaveLength(english.length)
    expect(words.filter((text) => english.includes(text))).toEqual([])
  }
})

test('what no field of the page is for is said above the form, in the language of who reads it', async () => {
  const redirect_uris = ['https://app.example/cb']
  const old = { client_id: 'old', client_name: 'Old', redirect_uris, require_pkce: false }
  const before = await startServer({}, { seed: { users: [ROOT], clients: [old] } })
  const { PORT: _port, OIDC_ISSUER: _issuer, SEED_FILE: _seed, ...settings } = before.settings
  const since = await startServer({ ...settings, OIDC_PROFILE: 'oauth-2.1' }, { database: before.database })
  const alerts = await Promise.all(
    ['en', 'de', 'es'].map(async (tag) => {
      const agent = await signedIn(since, ROOT, { 'accept-language': tag })
      const page = await agent.get(`${since.url}/admin/client?client_id=old`)
      const { status, body } = await agent.submit(page, 'client', { client_name: 'New' })
      expect(status).toBe(400)
      return /role="alert">([^<]*)/.exec(body)?.[1]?.trim()
    }),
  )
  expect(alerts).toEqual([
    'require_pkce: Must be true: the profile oauth-2.1 needs it.',
    'require_pkce: Muss true sein: Das Profil oauth-2.1 verlangt es.',
    'require_pkce: Debe ser true: lo exige el perfil oauth-2.1.',
  ])
})
