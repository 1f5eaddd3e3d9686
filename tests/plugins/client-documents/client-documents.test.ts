/**
 * Clients that are known by a document at their client_id: nothing of them is registered, and all else works.
 * @needs latchkey-client-documents
 */
import { decodeJwt } from 'jose'
import { expect, onTestFinished, test, vi } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { createClient, introspect } from '../../support/clients.ts'
import { passTime } from '../../support/clocks.ts'
import { startDocumentHost } from '../../support/document-host.ts'
import { basic, bearer } from '../../support/requests.ts'
import { startBeside, startServer } from '../../support/server.ts'
import {
  ALICE, answerOf, authorizationUrl, authorize, createPkce, goThrough, REDIRECT_URI, SEED, type Tokens, WEB,
} from '../../support/sign-in.ts' // prettier-ignore
import { createUserAgent, findForm, type UserAgent } from '../../support/user-agent.ts'

const host = await startDocumentHost()
const server = await startServer(
  {
    OIDC_CLIENT_METADATA_DOCUMENTS: 'any',
    OIDC_REGISTRATION_SCOPES: 'read_books',
    UNSAFE_OUTBOUND_ORIGINS: host.origin,
  },
  { seed: SEED },
)
const kernel = kernelOf(server.server)
const { challenge, verifier } = createPkce()
const PKCE = { code_challenge: challenge, code_challenge_method: 'S256' }
const alice = await kernel.users.find('alice')

/** What each process has in memory, as if a minute had passed. */
function forget(): void {
  void kernel.feed.announce('client', 'https://forget.example/')
}

/** The document as it was last read is too old to be taken. */
async function expire(clientId: string): Promise<void> {
  await server.database.query(
    `update client_documents set fresh_until = now() - interval '1 second', stale_until = now() - interval '1 second' where client_id = $1`,
    [clientId],
  )
  forget()
}

const urlFor = (clientId: string, more: Record<string, string | undefined> = {}) =>
  authorizationUrl(server, { client_id: clientId, ...PKCE, scope: 'openid read_books', ...more })

async function codeFor(clientId: string, agent = createUserAgent(server.url)): Promise<string> {
  const answer = answerOf(await goThrough(agent, await agent.get(urlFor(clientId))))
  expect([...answer.keys()]).toEqual(['code', 'state', 'iss'])
  return answer.get('code')!
}

const ask = async (form: Record<string, string>) => {
  const response = await server.post('/token', form)
  return { status: response.status, body: (await response.json()) as Tokens & { error: string } }
}
const exchange = async (clientId: string, code: string) =>
  ask({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, client_id: clientId, code_verifier: verifier }) // prettier-ignore
const refresh = async (clientId: string, token: string) =>
  ask({ grant_type: 'refresh_token', refresh_token: token, client_id: clientId })

async function tokensOf(clientId: string, agent?: UserAgent): Promise<Tokens> {
  const { status, body } = await exchange(clientId, await codeFor(clientId, agent))
  expect([status, body.error]).toEqual([200, undefined])
  return body
}

test('the metadata says that documents are taken', async () => {
  const response = await server.get('/.well-known/oauth-authorization-server')
  expect(await response.json()).toMatchObject({ client_id_metadata_document_supported: true })
})

test('a client without a row signs its user in, refreshes, is introspected and revokes', async () => {
  const clientId = host.publish('whole.json')
  const agent = createUserAgent(server.url)
  const tokens = await tokensOf(clientId, agent)
  expect(tokens.scope).toBe('openid read_books')
  expect((await server.get('/userinfo', bearer(tokens.access_token))).status).toBe(200)
  const api = await createClient(server, { scope: ['token_introspection', clientId] })
  expect(await introspect(server, api, tokens.access_token)).toMatchObject({
    active: true,
    client_id: clientId,
  })
  const refreshed = await refresh(clientId, tokens.refresh_token)
  expect(refreshed.status).toBe(200)
  expect(await server.database.query('select from clients where client_id = $1', [clientId])).toHaveLength(0)
  expect(host.asked('whole.json')).toBe(1)

  const apps = await agent.get(`${server.url}/account/apps`)
  expect(apps.body).toContain(host.host)
  expect(apps.body).toContain('It is known by its address alone.')
  const again = await agent.get(urlFor(clientId))
  expect(answerOf(again).get('code')).toBeTruthy()
  const revoke = { token: refreshed.body.refresh_token, client_id: clientId }
  expect((await server.post('/revoke', revoke)).status).toBe(200)
  expect((await server.get('/userinfo', bearer(refreshed.body.access_token))).status).toBe(401)
})

test('people see the host first, what it calls itself as that, where it takes them, and no logo', async () => {
  const clientId = host.publish('mail.json', {
    client_name: 'Google Mail',
    logo_uri: 'https://app.example/logo.png',
    client_uri: 'https://mail.example/',
  })
  const agent = createUserAgent(server.url)
  const login = await agent.get(urlFor(clientId))
  const page = await agent.submit(login, 'login', { username: ALICE.username, password: ALICE.password })
  for (const one of [login, page]) expect(one.body).not.toContain('logo.png')
  expect(page.body).toContain(`<h1><bdi>${host.host}</bdi> wants access to your account</h1>`)
  expect(page.body).toContain('It calls itself “<bdi>Google Mail</bdi>”.')
  expect(page.body).toContain('not registered here')
  expect(page.body).toContain('You will be sent to <strong><bdi>app.example</bdi></strong>.')
  expect(page.body).toContain(clientId)
  expect(page.body).not.toContain('Registered</dt>')
  expect(page.body).not.toContain('mail.example')
})

test('what was allowed is asked for again when the client looks otherwise, and when it is too long ago', async () => {
  const clientId = host.publish('changing.json')
  const agent = createUserAgent(server.url)
  await codeFor(clientId, agent)
  const asks = async () => findForm(await agent.get(urlFor(clientId)), 'consent') !== undefined
  expect(await asks()).toBe(false)
  // What says nothing of who it is.
  host.publish('changing.json', { software_version: '2' })
  await expire(clientId)
  expect(await asks()).toBe(false)
  const others = [
    { client_name: 'Notes of somebody else' },
    { logo_uri: 'https://app.example/logo.png' },
    { redirect_uris: [REDIRECT_URI, 'https://elsewhere.example/callback'] },
    { jwks_uri: 'https://app.example/keys' },
  ]
  for (const members of others) {
    host.publish('changing.json', members)
    await expire(clientId)
    expect(await asks()).toBe(true)
    await codeFor(clientId, agent)
    expect(await asks()).toBe(false)
  }
  const rows = await server.database.query(
    `update consents set expires_at = now() - interval '1 second' where client_id = $1 and expires_at > now() + interval '89 days' returning 1`,
    [clientId],
  )
  expect(rows).toHaveLength(1)
  expect(await asks()).toBe(true)
  const { id } = await kernel.consents.find(alice!.id, (await kernel.directory.findClient(clientId))!)
  expect(id).toBeUndefined()
})

test('scopes that were allowed to another are not allowed to who came after it', async () => {
  const clientId = host.publish('heir.json')
  const agent = createUserAgent(server.url)
  await codeFor(clientId, agent)
  host.publish('heir.json', { client_name: 'An heir' })
  await expire(clientId)
  const page = await agent.get(urlFor(clientId, { scope: 'openid' }))
  await agent.submit(page, 'consent', { decision: 'allow' })
  const { scopes } = await kernel.consents.find(alice!.id, (await kernel.directory.findClient(clientId))!)
  expect([...scopes]).toEqual(['openid'])
})

test('a pairwise sub is its own, and stays wherever the document leads later', async () => {
  const subject_type = 'pairwise'
  await kernel.clients.create({ ...WEB, client_id: 'paired', subject_type })
  const paired = await authorize(server, { client_id: 'paired' })
  const form = { grant_type: 'authorization_code', code: paired.get('code')!, redirect_uri: REDIRECT_URI }
  const known = await server.post('/token', form, basic('paired', WEB.client_secret))
  const { sub: theirs } = decodeJwt(((await known.json()) as Tokens).id_token)

  const clientId = host.publish('paired.json', {
    subject_type,
    redirect_uris: ['https://evil.example/callback'],
  })
  const redirect_uri = 'https://evil.example/callback'
  const code = (await authorize(server, { client_id: clientId, ...PKCE, redirect_uri })).get('code')!
  const { body: tokens } = await ask({ grant_type: 'authorization_code', code, redirect_uri, client_id: clientId, code_verifier: verifier }) // prettier-ignore
  const { sub } = decodeJwt(tokens.id_token)
  expect([sub === alice!.id, sub === theirs]).toEqual([false, false])

  host.publish('paired.json', { subject_type, redirect_uris: [REDIRECT_URI] })
  await expire(clientId)
  const { body: later } = await refresh(clientId, tokens.refresh_token)
  expect(decodeJwt(later.id_token).sub).toBe(sub)
  const userinfo = await server.get('/userinfo', bearer(later.access_token))
  expect(await userinfo.json()).toMatchObject({ sub })
})

test('a document that is away ends nothing that goes on, and begins nothing', async () => {
  const clientId = host.publish('away.json')
  const agent = createUserAgent(server.url)
  let { refresh_token: token, access_token: access } = await tokensOf(clientId, agent)
  for (const answer of [404, 500] as const) {
    host.answer('away.json', (response) => response.writeHead(answer).end())
    await expire(clientId)
    const refreshed = await refresh(clientId, token)
    expect(refreshed.status).toBe(200)
    ;({ refresh_token: token, access_token: access } = refreshed.body)
    expect((await server.get('/userinfo', bearer(access))).status).toBe(200)
    const page = await agent.get(urlFor(clientId))
    expect(page.status).toBe(400)
    expect(page.body).toContain(`its address answers ${answer}`)
    passTime(6000)
  }
  // A day later nobody knows it any more.
  await server.database.query('delete from client_documents where client_id = $1', [clientId])
  forget()
  expect(await refresh(clientId, token)).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
  host.publish('away.json')
  passTime(6000)
  expect((await refresh(clientId, token)).status).toBe(200)
  vi.useRealTimers()
})

test('a document that was read while the clock was ahead is fresh for no longer than others', async () => {
  const clientId = host.publish('ahead.json', { client_name: 'Of before' })
  const nameOn = async () =>
    /Of before|Of now/.exec((await createUserAgent(server.url).get(urlFor(clientId))).body)?.[0]
  onTestFinished(() => void vi.useRealTimers())
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 })
  expect(await nameOn()).toBe('Of before')
  vi.useRealTimers()
  host.publish('ahead.json', { client_name: 'Of now' })
  // An hour later, for which it is fresh at most.
  await server.database.query(
    `update client_documents set read_at = read_at - interval '1 hour', fresh_until = fresh_until - interval '1 hour' where client_id = $1`,
    [clientId],
  )
  forget()
  expect(await nameOn()).toBe('Of now')
})

test('a document that a former version read while the clock was ahead is read again, and replaced', async () => {
  const clientId = host.publish('long-ahead.json', { client_name: 'Of before' })
  const nameOn = async () =>
    /Of before|Of now/.exec((await createUserAgent(server.url).get(urlFor(clientId))).body)?.[0]
  expect(await nameOn()).toBe('Of before')
  await server.database.query(
    `update client_documents set read_at = read_at + interval '1 day', fresh_until = fresh_until + interval '1 day',
      stale_until = stale_until + interval '1 day', kept_until = kept_until + interval '1 day' where client_id = $1`,
    [clientId],
  )
  host.publish('long-ahead.json', { client_name: 'Of now' })
  forget()
  expect(await nameOn()).toBe('Of now')
  const rows = await server.database.query(
    `select read_at <= now() as "right", document->>'client_name' as "name" from client_documents where client_id = $1`,
    [clientId],
  )
  expect(rows).toEqual([{ right: true, name: 'Of now' }])
})

test('a host that fails for a moment keeps nobody out, unless the document says must-revalidate', async () => {
  const agent = createUserAgent(server.url)
  for (const [name, control, status] of [['lasting.json', 'max-age=60', 303], ['strict.json', 'max-age=60, must-revalidate', 400]] as const) {
    const clientId = host.publish(name, {}, { 'cache-control': control })
    await codeFor(clientId, agent)
    host.answer(name, (response) => response.writeHead(503).end())
    const [row] = await server.database.query<{ stale: number }>(`update client_documents set fresh_until = now() - interval '1 second',
      stale_until = stale_until - interval '70 seconds' where client_id = $1 returning extract(epoch from stale_until - now())::float as stale`, [clientId])
    expect(row!.stale > 0).toBe(status === 303)
    forget()
    const page = await agent.get(urlFor(clientId))
    expect([name, page.status === 400 ? 400 : 303]).toEqual([name, status])
  }
}) // prettier-ignore

test('many who come at once have one document read, and what was read serves by the rules of HTTP', async () => {
  const clientId = host.publish('busy.json', {}, { 'cache-control': 'max-age=100000' })
  const pages = await Promise.all(
    Array.from({ length: 20 }, async () => createUserAgent(server.url).get(urlFor(clientId))),
  )
  expect(pages.every(({ body }) => body.includes('id="login"'))).toBe(true)
  expect(host.asked('busy.json')).toBe(1)
  const [row] = await server.database.query<{ fresh: number; kept: number }>(
    'select extract(epoch from fresh_until - read_at)::float as fresh, extract(epoch from kept_until - read_at)::float as kept from client_documents where client_id = $1',
    [clientId],
  )
  expect(row).toEqual({ fresh: 3600, kept: 86_400 })
  host.publish('busy-not.json', {}, { 'cache-control': 'no-store' })
  for (let n = 0; n < 3; n++) {
    await createUserAgent(server.url).get(urlFor(host.at('busy-not.json')))
    forget()
  }
  expect(host.asked('busy-not.json')).toBe(1)
})

test('another process serves what was read here, and asks nobody', async () => {
  const clientId = host.publish('shared.json')
  const { refresh_token: token } = await tokensOf(clientId)
  const other = await startBeside(server)
  const form = { grant_type: 'refresh_token', refresh_token: token, client_id: clientId }
  expect((await other.post('/token', form)).status).toBe(200)
  expect(host.asked('shared.json')).toBe(1)
  await other.close()
})

test('one that is registered here under an address is as it is registered', async () => {
  const clientId = host.publish('registered.json', { client_name: 'A stranger' })
  await tokensOf(clientId)
  await createClient(server, { client_id: clientId, client_name: 'Ours', redirect_uris: [REDIRECT_URI] })
  expect(await kernel.directory.findClient(clientId)).toMatchObject({ metadata: { client_name: 'Ours' } })
  expect((await kernel.directory.findClient(clientId))!.unregistered).toBeUndefined()
  const page = await createUserAgent(server.url).get(urlFor(clientId))
  expect(page.body).toContain('Ours')
  await kernel.clients.delete(clientId)
  const [row] = await server.database.query<{ n: string }>('select count(*) as n from consents where client_id = $1', [clientId]) // prettier-ignore
  expect(row).toEqual({ n: '0' })
})
