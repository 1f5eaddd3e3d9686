/**
 * OpenID Connect CIBA at two processes of one database: clients by `openid-client`
 * and `oauth4webapi`, a person with a mailbox and a browser.
 * @needs latchkey-ciba
 */
import { decodeJwt } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import * as openid from 'openid-client'
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { ask, call, CALL_CENTRE, CIBA_SEED, CIBA_SETTINGS, pageOf, poll, approve } from '../support/ciba.ts'
import { runCommandHere } from '../support/command-here.ts'
import { spawnServer } from '../support/process.ts'
import { startReceiver } from '../support/receiver.ts'
import { ALICE, BOB, goThrough } from '../support/sign-in.ts'
import { until } from '../support/until.ts'
import { createUserAgent, findForm } from '../support/user-agent.ts'

let isAway = false
const receiver = await startReceiver((_request, response) => response.writeHead(isAway ? 503 : 204).end())
const origin = `http://127.0.0.1:${receiver.port}`
const PINGED = {
  ...CALL_CENTRE,
  client_id: 'pinged',
  backchannel_token_delivery_mode: 'ping',
  backchannel_client_notification_endpoint: `${origin}/ciba`,
}
const server = await spawnServer(
  { ...CIBA_SETTINGS, UNSAFE_OUTBOUND_ORIGINS: origin },
  { seed: { ...CIBA_SEED, clients: [...CIBA_SEED.clients, PINGED] } },
)
const beside = await spawnBeside(server.settings, server.database)
const credentials = ({ username, password }: typeof BOB) => ({ username, password })
const discover = async (client_id: string): Promise<openid.Configuration> =>
  openid.discovery(new URL(server.url), client_id, undefined, openid.ClientSecretBasic(CALL_CENTRE.client_secret), {
    execute: [openid.allowInsecureRequests],
  }) // prettier-ignore

test('openid-client polls: a person signs in, reads the binding message, allows, and the client has its tokens', async () => {
  const config = await discover('call-centre')
  expect(config.serverMetadata()).toMatchObject({
    backchannel_authentication_endpoint: `${server.url}/backchannel-authentication`,
    backchannel_token_delivery_modes_supported: ['poll', 'ping'],
  })
  const asked = await openid.initiateBackchannelAuthentication(config, {
    scope: 'openid email read_books',
    login_hint: ALICE.email,
    binding_message: 'W4SCT',
    requested_expiry: '120',
  })
  expect(asked).toMatchObject({ expires_in: 120, interval: 5 })
  expect(Buffer.from(asked.auth_req_id, 'base64url')).toHaveLength(32)
  const polling = openid.pollBackchannelAuthenticationGrant(config, asked)

  const person = createUserAgent(server.url)
  const login = await person.get(pageOf(server, asked))
  const consent = await person.submit(login, 'login', credentials(ALICE))
  expect(consent.body).toContain('Call centre')
  expect(consent.body).toMatch(/<strong id="binding-message">(?:<bdi>)?W4SCT/)
  expect(consent.body).toContain('asked a moment ago, from the address <bdi>127.0.0.1</bdi>')
  const end = await person.submit(consent, 'consent', { decision: 'allow' })
  expect(end).toMatchObject({ status: 200, url: `${server.url}/approve/allowed` })

  const tokens = await polling
  expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'openid email read_books' })
  expect(tokens.claims()).toMatchObject({ aud: 'call-centre', email: ALICE.email, amr: ['pwd'] })
  expect(tokens.claims()).toHaveProperty('at_hash')
  const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token!)
  expect(decodeJwt(refreshed.access_token).sub).toBe(tokens.claims()!.sub)
})

test('oauth4webapi is told by a ping that somebody has decided, and fetches the tokens', async () => {
  const insecure = { [oauth4webapi.allowInsecureRequests]: true }
  const issuer = new URL(server.url)
  const as = await oauth4webapi.processDiscoveryResponse(
    issuer,
    await oauth4webapi.discoveryRequest(issuer, insecure),
  )
  const client = { client_id: 'pinged' }
  const authentication = oauth4webapi.ClientSecretBasic(PINGED.client_secret)
  const client_notification_token = '8d67dc78-7faa-4d41-aabd-67707b374255'
  const form = { scope: 'openid', login_hint: 'bob', client_notification_token }
  const response = await oauth4webapi.backchannelAuthenticationRequest(as, client, authentication, form, insecure)
  const { auth_req_id } = await oauth4webapi.processBackchannelAuthenticationResponse(as, client, response)
  const exchange = async () => {
    const answer = await oauth4webapi.backchannelAuthenticationGrantRequest(as, client, authentication, auth_req_id, insecure)
    return oauth4webapi.processBackchannelAuthenticationGrantResponse(as, client, answer)
  }
  await expect(exchange()).rejects.toMatchObject({ error: 'authorization_pending' })
  const before = receiver.received.length
  await approve(server, { auth_req_id }, createUserAgent(server.url), BOB)
  const ping = await until(() => {
    const [first] = receiver.received.slice(before)
    if (first === undefined) throw new Error('no ping yet')
    return first
  })
  expect(ping).toMatchObject({ method: 'POST', url: '/ciba', body: JSON.stringify({ auth_req_id }) })
  expect(ping.headers).toMatchObject({ authorization: `Bearer ${client_notification_token}`, 'content-type': 'application/json' })
  const tokens = await exchange()
  expect(oauth4webapi.getValidatedIdTokenClaims(tokens)).toMatchObject({ aud: 'pinged' })
  await expect(exchange()).rejects.toMatchObject({ error: 'invalid_grant' })
  expect(receiver.received.slice(before)).toHaveLength(1)
}) // prettier-ignore

test('a client that is away is told once it is there again, whichever process is', async () => {
  const client_notification_token = 'a-notification-token'
  const { auth_req_id } = await ask(server, { client_notification_token }, PINGED)
  const mine = () => receiver.received.filter(({ body }) => body.includes(auth_req_id))
  isAway = true
  await approve(server, { auth_req_id })
  await until(() => {
    if (mine().length === 0) throw new Error('nobody has tried yet')
  })
  isAway = false
  const before = mine().length
  await server.database.query(`update outbox set due_at = now() - interval '1 second'`)
  await until(async () => {
    if ((await server.database.query('select id from outbox')).length > 0) throw new Error('it still waits')
  })
  expect(mine().length).toBeGreaterThan(before)
  expect(await poll(beside, { auth_req_id }, PINGED)).toMatchObject({ status: 200 })
})

test('what a client has waiting at one person is bounded over both processes', async () => {
  await server.database.query(`delete from artifacts where kind = 'ciba-place'`)
  const asking = Array.from({ length: 12 }, async (_, at) => {
    const form = { scope: 'openid', login_hint: 'bob' }
    return (await call(at % 2 === 0 ? server : beside, form)).status
  })
  const statuses = await Promise.all(asking)
  expect(statuses.filter((status) => status === 200)).toHaveLength(5)
  expect(statuses.filter((status) => status === 429)).toHaveLength(7)
  await server.database.query(`delete from artifacts where kind = 'ciba-place'`)
})

test('of two answers at once, in two tabs at two processes, one counts, and the client hears no other', async () => {
  for (let round = 0; round < 3; round++) {
    const asked = await ask(server)
    const [person, other] = [createUserAgent(server.url), createUserAgent(server.url)]
    const consents = []
    for (const agent of [person, other]) {
      const login = await agent.get(pageOf(server, asked))
      consents.push(await agent.submit(login, 'login', credentials(ALICE)))
    }
    const form = findForm(consents[1]!, 'consent')!
    const cookie = [...other.cookies].map((pair) => pair.join('=')).join('; ')
    const [ended, denied] = await Promise.all([
      person.submit(consents[0]!, 'consent', { decision: 'allow' }),
      beside.post(
        form.action.slice(form.action.indexOf('/interaction')),
        { ...form.fields, decision: 'deny' },
        { cookie, origin: server.url, accept: 'text/html' },
      ),
    ])
    const isAllowed = ended.url.endsWith('/approve/allowed')
    expect(isAllowed).not.toBe(denied.headers.get('location') === '/approve/denied')
    const told = await poll(round % 2 === 0 ? server : beside, asked)
    expect(told).toMatchObject(isAllowed ? { status: 200 } : { error: 'access_denied' })
  }
})

test('of many who fetch the tokens at two processes at once, one gets them', async () => {
  const asked = await ask(server)
  await approve(server, asked)
  const all = await Promise.all([server, beside, server, beside].map(async (at) => poll(at, asked)))
  expect(all.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(all.filter(({ error }) => error === 'invalid_grant')).toHaveLength(3)
})

test('a denial is remembered by both processes, and the page is over', async () => {
  const asked = await ask(server)
  const person = createUserAgent(server.url)
  const login = await person.get(pageOf(server, asked))
  const consent = await person.submit(login, 'login', credentials(ALICE))
  const end = await person.submit(consent, 'consent', { decision: 'deny' })
  expect(end).toMatchObject({ status: 200, url: `${server.url}/approve/denied` })
  for (const at of [server, beside, server])
    expect(await poll(at, asked)).toMatchObject({ status: 400, error: 'access_denied' })
  const back = await person.submit(consent, 'consent', { decision: 'allow' })
  expect(back.status).toBe(400)
  expect((await person.get(pageOf(server, asked))).status).toBe(410)
  expect(await poll(beside, asked)).toMatchObject({ error: 'access_denied' })
})

test('nobody else can decide, though they have the page', async () => {
  const asked = await ask(server)
  const other = createUserAgent(server.url)
  const refused = await other.submit(await other.get(pageOf(server, asked)), 'login', credentials(BOB))
  expect(refused.status).toBe(400)
  expect(findForm(refused, 'consent')).toBeUndefined()
  expect(refused.body).toContain('<h1>This is for another account</h1>')
  expect(refused.body).toContain(`href="${new URL(pageOf(server, asked)).pathname}?id=`)
  expect(await poll(server, asked)).toMatchObject({ error: 'authorization_pending' })
  // Signed in as Bob by now, and asked to be Alice.
  const login = await other.get(pageOf(server, asked))
  expect(findForm(login, 'login')).toBeDefined()
  const end = await goThrough(other, login, ALICE)
  expect(end.url).toBe(`${server.url}/approve/allowed`)
  expect(await poll(server, asked)).toMatchObject({ status: 200 })
})

test('who signs out, or is disabled, before the client comes gives nothing', async () => {
  const person = createUserAgent(server.url)
  const [left, disabled] = [await ask(server), await ask(server, { login_hint: 'bob' })]
  await approve(server, left, person)
  const asking = await person.get(`${server.url}/end-session`)
  const csrf_token = /name="csrf_token" value="([^"]+)"/.exec(asking.body)![1]!
  await person.post(asking.url, { csrf_token })
  expect(await poll(beside, left)).toMatchObject({ status: 400, error: 'access_denied' })

  await approve(server, disabled, createUserAgent(server.url), BOB)
  expect((await runCommandHere(['user', 'disable', BOB.username], server.settings)).status).toBe(0)
  expect(await poll(server, disabled)).toMatchObject({ status: 400, error: 'access_denied' })
  await runCommandHere(['user', 'enable', BOB.username], server.settings)
})

test('no auth_req_id is stored, nor in the log', async () => {
  const asked = await ask(server)
  await poll(server, asked)
  const stored = JSON.stringify(await server.database.query('select * from artifacts'))
  expect(stored).not.toContain(asked.auth_req_id)
  expect(server.output() + beside.output()).not.toContain(asked.auth_req_id)
})
