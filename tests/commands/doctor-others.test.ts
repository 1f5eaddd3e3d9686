/**
 * `doctor` of trusted issuers and upstreams, and of clients that are vouched for at others: whose keys cannot be read now, why, and what to
 * do; as few requests and lines as there may be.
 */
import { expect, test } from 'vitest'
import type { Finding } from '../../src/doctor/finding.ts'
import { runCommandHere } from '../support/command-here.ts'
import { createAssertionKey } from '../support/client-assertions.ts'
import { createDatabase } from '../support/database.ts'
import { isThere } from '../support/left-out.ts'
import { startReceiver } from '../support/receiver.ts'
import { startServer } from '../support/server.ts'
import { freePort, type Settings } from '../support/settings.ts'

const key = await createAssertionKey()
const jwks = { keys: [key.jwk] }
const closed = `http://127.0.0.1:${await freePort()}`

/** Each issuer is a path of it. */
const host = await startReceiver(({ url, headers }, response) => {
  const origin = `http://${headers.host}`
  const [, name = '', file] = url.split('/', 3)
  const answers: Record<string, unknown> = {
    'good/jwks': jwks,
    'good/.well-known': { issuer: `${origin}/good`, jwks_uri: `${origin}/good/jwks` },
    'empty/jwks': { keys: [] },
    'list/jwks': [],
    'other/.well-known': { issuer: `${origin}/good`, jwks_uri: `${origin}/good/jwks` },
    'keyless/.well-known': { issuer: `${origin}/keyless` },
    'me/here': '',
    'lost/.well-known': { issuer: `${origin}/lost`, jwks_uri: `${origin}/lost/jwks` },
  }
  const body = answers[`${name}/${file}`]
  response
    .writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' })
    .end(JSON.stringify(body ?? ''))
})
const origin = `http://127.0.0.1:${host.port}`

/** A server with these has been, and is examined. */
async function leave(seed: object): Promise<Settings> {
  const { settings, close } = await startServer(
    { UNSAFE_OUTBOUND_ORIGINS: `${origin},${closed}` },
    { seed, database: await createDatabase() },
  )
  await close()
  return { ...settings, SEED_FILE: undefined }
}

async function told(settings: Settings, check: string): Promise<string[]> {
  const { stdout, stderr } = await runCommandHere(['doctor', '--json'], settings)
  expect(stderr).toBe('')
  const { findings } = JSON.parse(stdout) as { findings: Finding[] }
  return findings.flatMap((one) => (one.check === check ? `${one.status} ${one.says}` : []))
}

const issuer = (name: string, jwks_uri = `${origin}/${name}/jwks`) => ({
  issuer: `https://${name}.example`,
  jwks_uri,
})

test('a trusted issuer whose keys cannot be read is named, with why, and what to do', async () => {
  const trusted_issuers = [
    issuer('good'),
    issuer('empty'),
    issuer('list'),
    issuer('lost'),
    issuer('away', `${closed}/jwks`),
    issuer('near', 'http://127.0.0.1:1/jwks'),
    { ...issuer('off', `${origin}/off/jwks`), disabled: true },
    { issuer: 'https://given.example', jwks },
    { issuer: 'http://localhost:4000/', jwks },
  ]
  const settings = await leave({ trusted_issuers })
  const says = (name: string, why: string, remedy = 'see what answers there') =>
    `warn The keys of https://${name}.example cannot be read now (${why}), and without them no JWT of it is good: ${remedy}, or mend its jwks_uri by \`trusted-issuer update https://${name}.example\`.`
  const found = [
    says('away', `${closed}/jwks: no answer came (ECONNREFUSED)`),
    says('empty', `${origin}/empty/jwks: none of its keys is of use`),
    says('list', `${origin}/list/jwks: it must be a JSON object`),
    says('lost', `${origin}/lost/jwks: it answers 404`),
    says(
      'near',
      'http://127.0.0.1:1/jwks: the address is not https',
      'name http://127.0.0.1:1 in UNSAFE_OUTBOUND_ORIGINS',
    ),
    'ok The keys of 3 can be read.',
  ]
  expect(await told(settings, 'trusted issuers')).toEqual(found)
  expect(await told(settings, 'upstreams')).toEqual([])
  expect(host.received.map(({ url }) => url)).not.toContain('/off/jwks')
  // A server that came to be it since.
  const [first] = await told({ ...settings, OIDC_ISSUER: 'http://localhost:4000' }, 'trusted issuers')
  expect(first).toBe(
    'warn http://localhost:4000/ is this server itself, and should not be here: `trusted-issuer delete http://localhost:4000/ --yes` ends that.',
  )
})

test.runIf(isThere('latchkey-upstreams'))(
  'an upstream whose metadata or keys cannot be read is named, with why, and what to do',
  async () => {
    const upstreams = ['good', 'other', 'keyless', 'lost'].map((id) => ({
      id,
      issuer: `${origin}/${id}`,
      client_id: 'us',
    }))
    const settings = await leave({
      upstreams: [...upstreams, { id: 'away', issuer: closed, client_id: 'us' }],
    })
    const metadata = '.well-known/openid-configuration'
    const says = (id: string, why: string) =>
      `warn The keys of ${id} cannot be read now (${why}), and without them nobody signs in by it: see what answers there, or mend its issuer by \`upstream update ${id}\`.`
    expect(await told(settings, 'upstreams')).toEqual([
      says('away', `${closed}/${metadata}: no answer came (ECONNREFUSED)`),
      says('keyless', `${origin}/keyless/${metadata}: it has no jwks_uri`),
      says('lost', `${origin}/lost/jwks: it answers 404`),
      says('other', `${origin}/other/${metadata}: its issuer is "${origin}/good"`),
      'ok The keys of 1 can be read.',
    ])
    expect(await told({ ...settings, WITHOUT: 'latchkey-upstreams' }, 'upstreams')).toEqual([])
  },
)

test.runIf(isThere('latchkey-upstreams'))(
  'an upstream that has no keys is asked whether it answers at all',
  async () => {
    const registered = { client_id: 'us', kind: 'oauth2', issuer: 'https://code.example' }
    const at = (token: string, userinfo: string) => ({
      ...registered,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: token,
      userinfo_endpoint: userinfo,
    })
    const settings = await leave({
      upstreams: [
        { id: 'there', ...at(`${origin}/nothing/to-get`, `${origin}/me/here`) },
        { id: 'moved', ...at(`${origin}/nothing/to-get`, `${origin}/me/moved`) },
        { id: 'away', ...at(`${closed}/token`, `${origin}/me/here`) },
        { id: 'near', kind: 'github', issuer: 'http://127.0.0.1:1/login/oauth', client_id: 'us' },
      ],
    })
    const says = (id: string, why: string, remedy = 'see what answers there') =>
      `warn ${id} does not answer now as it should (${why}), and until it does nobody signs in by it: ${remedy}, or mend its addresses by \`upstream update ${id}\`.`
    expect(await told(settings, 'upstreams')).toEqual([
      says('away', `${closed}/token: no answer came (ECONNREFUSED)`),
      says('moved', `${origin}/me/moved: it answers 404`),
      says(
        'near',
        'http://127.0.0.1:1/login/oauth/access_token: the address is not https',
        'name http://127.0.0.1:1 in UNSAFE_OUTBOUND_ORIGINS',
      ),
      'ok 1 without keys answers.',
    ])
  },
)

test('of many, a hundred are asked and ten are told', async () => {
  const names = Array.from({ length: 112 }, (_, at) => `many-${String(at).padStart(3, '0')}`)
  const settings = await leave({ trusted_issuers: names.map((name) => issuer(name)) })
  const before = host.received.length
  const found = await told(settings, 'trusted issuers')
  expect(found.slice(0, 10)).toEqual(
    names.slice(0, 10).map((name) => expect.stringContaining(`The keys of https://${name}.example cannot`)),
  )
  expect(found.slice(10)).toEqual([
    'warn 90 more are like these.',
    'ok 12 more were not asked for their keys: at most 100 are, for 15 seconds.',
  ])
  expect(host.received.length - before).toBe(100)
})

test.runIf(isThere('latchkey-token-exchange'))(
  'a client whose rule gives no ID-JAG any more, as it was registered before this version, is named, with why, and what to do',
  async () => {
    const audiences = ['https://chat.example']
    const rule = (more: object) => ({ resources: ['https://chat.example/api'], audiences, ...more })
    const rules = {
      another: [rule({ subject_clients: ['web'] })],
      fine: [rule({ subject_clients: ['fine'] })],
      pair: [{ subject_clients: ['web'], resources: ['https://api.example'] }, rule({ subject_clients: ['pair'] })],
      paired: [rule({ subject_clients: ['paired'], audience_client: 'fine' })],
    }
    const server = await startServer(
      {},
      { seed: { clients: Object.keys(rules).map((client_id) => ({ client_id })) }, database: await createDatabase() },
    )
    const { settings } = server
    expect(await told(settings, 'token exchange')).toEqual([])
    for (const [id, list] of Object.entries(rules))
      await server.database.query(`update clients set metadata = metadata || $2::jsonb where client_id = $1`, [
        id,
        JSON.stringify({ token_exchange: list, ...(id.startsWith('pair') ? { subject_type: 'pairwise' } : {}) }),
      ])
    await server.close()
    const says = (id: string, why: string) =>
      `warn "${id}" has a rule by which it gets no ID-JAG any more: token_exchange ${why}. Mend it by \`client update ${id} --token-exchange\`, or at /admin.`
    expect(await told(settings, 'token exchange')).toEqual([
      says('another', 'must name the client itself in subject_clients where a rule has audiences'),
      says('pair', 'must name an audience_client where a rule has audiences and the subject_type is pairwise'),
    ])
    expect(await told({ ...settings, WITHOUT: 'latchkey-token-exchange' }, 'token exchange')).toEqual([])
  },
) // prettier-ignore
