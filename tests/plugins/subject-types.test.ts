/** `public` and `pairwise`: what a user is called, by whom, and for how long. */
import { randomBytes } from 'node:crypto'
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import type { Client } from '../../src/index.ts'
import { createClient } from '../support/clients.ts'
import { type Answer, codesOf, exchangeAs, refreshAs } from '../support/code-flow.ts'
import { createDatabase } from '../support/database.ts'
import { startReceiver } from '../support/receiver.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { REDIRECT_URI, SEED } from '../support/sign-in.ts'
import { until } from '../support/until.ts'

let answer = { status: 200, body: '[]' }
const host = await startReceiver((_request, response) =>
  response
    .writeHead(answer.status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(answer.body),
)
let documents = 0
/** Answers are kept for half a minute: each has an address of its own. */
const sector = () => ({ sector_identifier_uri: `http://127.0.0.1:${host.port}/${++documents}` })
const running = await startServer({ UNSAFE_OUTBOUND_ORIGINS: `http://127.0.0.1:${host.port}` })
const user = crypto.randomUUID()

async function register(of: TestServer, metadata: object): Promise<Client> {
  const { client_id: clientId = '' } = await of.server.oauth.clients.create(metadata)
  return (await of.server.oauth.findClient(clientId))!
}

async function pairwise(...redirect_uris: string[]): Promise<Client> {
  return register(running, { redirect_uris, subject_type: 'pairwise' })
}

const { subjectOf } = running.server.oauth

describe('what a user is called', () => {
  test('by a client that says nothing, or public: the user id', async () => {
    const redirect_uris = ['https://app.example/cb']
    expect(subjectOf(user, await register(running, { redirect_uris }))).toBe(user)
    expect(subjectOf(user, await register(running, { redirect_uris, subject_type: 'public' }))).toBe(user)
  })

  test('by pairwise clients: the same in one sector, another in each other, and for each user', async () => {
    const one = await pairwise('https://app.example/cb', 'https://app.example:8443/other')
    const beside = await pairwise('https://APP.example/beside')
    const elsewhere = await pairwise('https://app2.example/cb')
    const names = [
      subjectOf(user, one),
      subjectOf(user, elsewhere),
      subjectOf(crypto.randomUUID(), one),
      user,
    ]
    expect(new Set(names).size).toBe(4)
    expect(names[0]).toMatch(/^[\w-]{43}$/)
    expect(subjectOf(user, beside)).toBe(names[0])
  })
})

describe('a sector_identifier_uri', () => {
  const redirect_uris = ['https://a.example/cb', 'https://b.example/cb']

  test('makes one sector of several hosts, by the host of its document', async () => {
    answer = { status: 200, body: JSON.stringify([...redirect_uris, 'https://c.example/cb']) }
    const [one, other] = await Promise.all(
      [redirect_uris, ['https://c.example/cb']].map(async (uris) =>
        register(running, { redirect_uris: uris, ...sector(), subject_type: 'pairwise' }),
      ),
    )
    expect(subjectOf(user, one!)).toBe(subjectOf(user, other!))
    expect(subjectOf(user, one!)).not.toBe(subjectOf(user, await pairwise('https://a.example/cb')))
  })

  test.each([
    ['does not list one of them', 200, JSON.stringify(redirect_uris.slice(1)), 'lists all redirect_uris'],
    ['is no list', 200, '{}', 'a JSON list'],
    ['is no JSON', 200, '<html>', 'a JSON list'],
    ['is not there', 404, JSON.stringify(redirect_uris), 'a JSON list'],
  ])(
    'whose document %s is refused, also for public subjects of one host',
    async (_what, status, body, words) => {
      answer = { status, body }
      for (const more of [{ subject_type: 'pairwise' }, { redirect_uris: redirect_uris.slice(0, 1) }])
        await expect(register(running, { redirect_uris, ...sector(), ...more })).rejects.toMatchObject({
          code: 'invalid_client_metadata',
          message: expect.stringContaining(words) as string,
        })
    },
  )

  test('of an address that may not be asked is refused in the same words', async () => {
    const metadata = { redirect_uris, sector_identifier_uri: 'https://127.0.0.1/list' }
    await expect(register(running, metadata)).rejects.toThrow('sector_identifier_uri must name a JSON list')
  })
})

describe('refused at registration', () => {
  test.each<[string, object, string]>([
    [
      'several hosts',
      { redirect_uris: ['https://a.example/', 'https://b.example/'] },
      'redirect_uris must have one host',
    ],
    [
      'a scheme of an app',
      { redirect_uris: ['com.example.app:/cb'] },
      'needs redirect_uris of http or https',
    ],
    ['a host of no owner', { redirect_uris: ['app://callback'] }, 'needs redirect_uris of http or https'],
    ['no address', {}, 'needs redirect_uris'],
  ])('%s', async (_what, metadata, words) => {
    await expect(register(running, { subject_type: 'pairwise', ...metadata })).rejects.toThrow(words)
  })

  test('a type that nobody serves, and an update that leaves the sector open', async () => {
    await expect(register(running, { subject_type: 'secret' })).rejects.toThrow(
      'subject_type must be one of public, pairwise',
    )
    const { clientId } = await pairwise('https://app.example/cb')
    const members = { redirect_uris: ['https://app.example/cb', 'https://b.example/cb'] }
    await expect(running.server.oauth.clients.update(clientId, members)).rejects.toThrow('one host')
  })
})

test('it stays so: in every process, after a restart, and when SECRET_KEY is replaced', async () => {
  const database = await createDatabase()
  const [former, fresh] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')]
  const start = async (SECRET_KEY: string) =>
    startServer({ SECRET_KEY, PORT: await freePort() }, { database })
  const [one, two] = await Promise.all([start(former), start(former)])
  const client = await register(one, { redirect_uris: ['https://app.example/cb'], subject_type: 'pairwise' })
  const name = one.server.oauth.subjectOf(user, client)
  expect(two.server.oauth.subjectOf(user, client)).toBe(name)
  const sealed = async () =>
    (await database.query(`select sealed from server_secrets where name = 'pairwise-subjects'`))[0]![
      'sealed'
    ] as string
  const before = await sealed()
  await Promise.all([one.close(), two.close()])

  const during = await start(`${fresh},${former}`)
  expect(during.server.oauth.subjectOf(user, client)).toBe(name)
  expect(await sealed()).not.toBe(before)
  await during.close()
  const after = await start(fresh)
  expect(after.server.oauth.subjectOf(user, client)).toBe(name)
  const secret = (await after.server.oauth.secret('pairwise-subjects')).export().toString('base64url')
  expect(await sealed()).not.toContain(secret)
  expect(await database.query(`select from server_secrets where name = 'pairwise-subjects'`)).toHaveLength(1)
})

test('who is told one sub is told no other by what goes on from it (OpenID Connect Core §12.2)', async () => {
  const at = await startServer({}, { seed: SEED })
  const pair = { redirect_uris: [REDIRECT_URI], subject_type: 'pairwise' }
  const client = await createClient(at, pair)
  const code = codesOf(at, { client_id: client.clientId })
  const first = await exchangeAs(at, client, await code())
  const subOf = ({ tokens }: Answer): unknown => decodeJwt(tokens.id_token).sub
  const next = await refreshAs(at, client, first.tokens.refresh_token)
  expect(subOf(next)).toBe(subOf(first))
  const { update } = at.server.oauth.clients
  // Neither another kind of sub, nor one of another sector.
  for (const other of [{ subject_type: 'public' }, { redirect_uris: ['https://b.example/callback'] }]) {
    await update(client.clientId, other)
    await until(async () => expect((await refreshAs(at, client, next.tokens.refresh_token)).error).toBe('invalid_grant'))
    await update(client.clientId, pair)
  }
  const last = await until(async () => {
    const answer = await refreshAs(at, client, next.tokens.refresh_token)
    expect(answer.status).toBe(200)
    return answer
  })
  expect(subOf(last)).toBe(subOf(first))
}) // prettier-ignore

test('nor where it was told the id of the user at first, as clients are by default', async () => {
  const at = await startServer({}, { seed: SEED })
  const client = await createClient(at, { redirect_uris: [REDIRECT_URI] })
  const first = await exchangeAs(at, client, await codesOf(at, { client_id: client.clientId })())
  await at.server.oauth.clients.update(client.clientId, { subject_type: 'pairwise' })
  const { error } = await until(async () => {
    const answer = await refreshAs(at, client, first.tokens.refresh_token)
    expect(answer.status).toBe(400)
    return answer
  })
  expect(error).toBe('invalid_grant')
}) // prettier-ignore

test('the secret of one name is never that of another, however many ask at once', async () => {
  const ask = async (name: string) => (await running.server.oauth.secret(name)).export().toString('hex')
  const asked = await Promise.all(['a', 'a', 'a', 'b'].map(ask))
  expect(asked).toEqual([asked[0], asked[0], asked[0], asked[3]])
  expect(asked[3]).not.toBe(asked[0])
  expect(asked[0]).toMatch(/^[0-9a-f]{64}$/)
})

test('discovery names the types, those of other plugins too; without the plugin no client falls back', async () => {
  const extended = await startServer(
    {},
    {
      extend: ({ oauth }) =>
        oauth.register('subjectType', 'x-numbered', { subject: (userId) => `n-${userId}` }),
    },
  )
  const discovered = await extended.get('/.well-known/openid-configuration')
  expect(await discovered.json()).toMatchObject({
    subject_types_supported: ['public', 'pairwise', 'x-numbered'],
  })
  const numbered = await register(extended, { subject_type: 'x-numbered' })
  expect(extended.server.oauth.subjectOf('7', numbered)).toBe('n-7')

  const { server } = await startServer({}, { build: { without: ['latchkey-subject-types'] } })
  expect(() => server.oauth.subjectOf('7', numbered)).toThrow('nothing serves the subject_type')
})
