/** What is granted for something else ends with that, however it ends; and what is granted for it in turn. */
import { beforeAll, expect, test } from 'vitest'
import type { Granted } from '../../../src/doors/facts.ts'
import { parentOf } from '../../../src/doors/parents.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { exchangeAs, refreshAs } from '../../support/code-flow.ts'
import { createClient, getToken, introspect, type TestClient } from '../../support/clients.ts'
import { type Answer, createFactsGrant, FACTS_GRANT, refreshed } from '../../support/facts-grant.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, authorize, REDIRECT_URI, type Tokens } from '../../support/sign-in.ts'
import { createUserAgent } from '../../support/user-agent.ts'

const grant = createFactsGrant()
const server = await startServer(
  { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false, OIDC_REFRESH_REUSE_INTERVAL: 0 },
  { extend: grant.add },
)
const { oauth } = server.server
const { consents } = kernelOf(server.server)
const metadata = { scope: ['read'], grant_types: [FACTS_GRANT, 'refresh_token'] }
const apps = {
  jwt: await createClient(server, metadata),
  opaque: await createClient(server, { ...metadata, access_token_format: 'opaque' }),
}
const formats = ['jwt', 'opaque'] as const
let user: string

beforeAll(async () => {
  user = (await oauth.users.create(ALICE)).id
})

/** What somebody has who has signed in at a client of its own. */
interface Source {
  readonly client: TestClient
  readonly code: string
  readonly tokens: Tokens
  readonly authorization: string
  readonly sid: string
}

let source: Source

async function signIn(format: (typeof formats)[number]): Promise<Source> {
  const client = await createClient(server, {
    redirect_uri: REDIRECT_URI,
    response_types: ['code'],
    grant_types: ['authorization_code', 'refresh_token'],
    scope: ['read'],
    access_token_format: format,
  })
  const asked = { client_id: client.clientId, scope: 'openid read' }
  const code = (await authorize(server, asked, createUserAgent(server.url))).get('code')!
  const { tokens } = await exchangeAs(server, client, code)
  const { authorization } = (await oauth.verify(tokens.access_token))!
  return { client, code, tokens, authorization: authorization!.id!, sid: authorization!.authentication!.sid }
}

async function parentOfToken(token: string) {
  return parentOf((await oauth.verify(token))!)
}

const tokenOf = ({ access_token: token }: Answer) => String(token)

async function isActive(client: TestClient, tokens: Answer): Promise<unknown> {
  const { active } = await introspect(server, client, tokenOf(tokens))
  expect((await oauth.verify(tokenOf(tokens))) !== null).toBe(active)
  return active
}

/** A token of another client for that of the source, and one for that in turn. */
async function descend(format: (typeof formats)[number], of = source.tokens.access_token) {
  const facts: Partial<Granted> = { subject: user, parent: await parentOfToken(of) }
  const child = await grant.get(server, apps[format], facts)
  const grandchild = await grant.get(server, apps[format], {
    ...facts,
    parent: await parentOfToken(tokenOf(child)),
  })
  expect([child.status, grandchild.status]).toEqual([200, 200])
  return { child, grandchild, facts }
}

const ENDINGS: Readonly<Record<string, () => Promise<unknown>>> = {
  'its Authorization is revoked': async () => oauth.revoke(source.authorization, 'a test'),
  'its access token is given back': async () =>
    server.post('/revoke', { token: source.tokens.access_token }, source.client.basic),
  'its refresh token is given back': async () =>
    server.post('/revoke', { token: source.tokens.refresh_token }, source.client.basic),
  'its refresh token is used again': async () => {
    await refreshAs(server, source.client, source.tokens.refresh_token)
    await refreshAs(server, source.client, source.tokens.refresh_token)
  },
  'its code is used again': async () => exchangeAs(server, source.client, source.code),
  'its user signs out': async () => oauth.sessions.endOne(user, source.sid),
  'its user signs out everywhere': async () => oauth.sessions.endAll(user),
  'its user takes back what was allowed': async () => consents.withdraw(user, source.client.clientId),
  'its user is disabled': async () => {
    await oauth.users.disable(ALICE.username)
    await oauth.users.enable(ALICE.username)
  },
  'its client is deleted': async () => oauth.clients.delete(source.client.clientId),
  'nothing of it is left': async () =>
    server.database.query('delete from authorizations where id = $1', [source.authorization]),
}

test.each(formats.flatMap((format) => Object.keys(ENDINGS).map((name) => [format, name] as const)))(
  'what was granted for a token (%s) ends when %s',
  async (format, name) => {
    source = await signIn(format)
    const client = apps[format]
    const { child, grandchild, facts } = await descend(format)
    expect([await isActive(client, child), await isActive(client, grandchild)]).toEqual([true, true])
    const next = await refreshed(server, client, child)
    expect(await isActive(client, next)).toBe(true)

    await ENDINGS[name]!()
    for (const tokens of [child, grandchild, next]) expect(await isActive(client, tokens)).toBe(false)
    const refused = { status: 400, error: 'invalid_grant' }
    expect(await refreshed(server, client, next)).toMatchObject(refused)
    expect(await refreshed(server, client, grandchild)).toMatchObject(refused)
    expect(await grant.get(server, client, facts)).toMatchObject(refused)
  },
)

test.each(formats)('it ends no later than that, whatever the grant says (%s)', async (format) => {
  const notAfter = Date.now() + 30_000
  const token = tokenOf(await grant.get(server, apps[format], { subject: user, notAfter }))
  const { exp } = (await oauth.verify(token))!.claims
  const { child, grandchild } = await descend(format, token)
  for (const tokens of [child, grandchild, await refreshed(server, apps[format], child)]) {
    const { claims } = (await oauth.verify(tokenOf(tokens)))!
    expect(claims.exp).toBeLessThanOrEqual(exp)
    expect(claims.exp).toBeGreaterThan(exp - 5)
  }
})

test('what is granted for an Authorization outlives its tokens, and not itself', async () => {
  source = await signIn('jwt')
  const { authorization } = (await oauth.verify(source.tokens.access_token))!
  const child = await grant.get(server, apps.jwt, { subject: user, parent: parentOf(authorization!) })
  expect(child['expires_in']).toBe(3600)
  await ENDINGS['its access token is given back']!()
  expect(await isActive(apps.jwt, child)).toBe(true)
  await ENDINGS['its Authorization is revoked']!()
  expect(await isActive(apps.jwt, child)).toBe(false)
})

test.each(formats)(
  'what one client is granted for the token of another is not of a user, and ends with it (%s)',
  async (format) => {
    for (const end of ['revoke', 'delete'] as const) {
      const owner = await createClient(server, { scope: ['read'], access_token_format: format })
      const { access_token: token } = await getToken(server, owner)
      const facts = { subjectClient: owner.clientId, actor: { sub: apps[format].clientId } }
      const child = await grant.get(server, apps[format], { ...facts, parent: await parentOfToken(token) })
      const parent = await parentOfToken(tokenOf(child))
      const grandchild = await grant.get(server, apps[format], { ...facts, parent })
      for (const tokens of [child, grandchild]) {
        expect(await isActive(apps[format], tokens)).toBe(true)
        expect((await oauth.verify(tokenOf(tokens)))?.claims.sub).toBe(owner.clientId)
      }
      if (end === 'revoke') await server.post('/revoke', { token }, owner.basic)
      else await oauth.clients.delete(owner.clientId)
      for (const tokens of [child, grandchild]) expect(await isActive(apps[format], tokens)).toBe(false)
    }
    const rows = await server.database.query('select id from authorizations where subject = any($1)', [
      (await server.database.query<{ client_id: string }>('select client_id from clients')).map(
        (one) => one.client_id,
      ),
    ])
    expect(rows).toEqual([])
  },
)

test('a client that is registered anew is another, and what was granted for its tokens before has ended', async () => {
  const owner = await createClient(server, { scope: ['read'] })
  const { access_token: token } = await getToken(server, owner)
  const parent = await parentOfToken(token)
  const facts = { subjectClient: owner.clientId }
  expect(await grant.get(server, apps.jwt, { ...facts, parent })).toMatchObject({ status: 200 })
  const before = { ...parent, since: parent.since - 10_000 }
  expect(await grant.get(server, apps.jwt, { ...facts, parent: before })).toMatchObject({
    status: 400,
    error: 'invalid_grant',
  })
})

test('a line of them has an end', async () => {
  const owner = await createClient(server, { scope: ['read'] })
  let { access_token: token } = await getToken(server, owner)
  for (let length = 1; length <= 8; length++) {
    const parent = await parentOfToken(token)
    token = tokenOf(await grant.get(server, apps.jwt, { subjectClient: owner.clientId, parent }))
  }
  const parent = await parentOfToken(token)
  expect(await grant.get(server, apps.jwt, { subjectClient: owner.clientId, parent })).toMatchObject({
    status: 400,
    error: 'invalid_grant',
  })
})
