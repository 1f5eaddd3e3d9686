/**
 * Who comes to a door with a session or a token and sends the last byte of the body later is judged by what is so then, and not by what was so
 * when they came: a request may take half a minute, and a new one may be begun in each.
 * @needs latchkey-admin
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { signedIn } from '../plugins/account/owner.ts'
import { DIRECTORIES } from '../support/scim.ts'
import { startApi, tokenOf, program, PROGRAMS } from '../support/admin-api.ts'
import { rowsWith } from '../support/left-out.ts'
import { bearer } from '../support/requests.ts'
import { SEED } from '../support/sign-in.ts'
import { findForm } from '../support/user-agent.ts'
import { ACCOUNT, stateOf } from './forms.ts'

const BREAKER = program('breaker', 'global-token-revocation')
const server = await startApi(
  { SCIM: 'on', GLOBAL_TOKEN_REVOCATION: 'on', OIDC_CIBA: true },
  { seed: { ...SEED, clients: [...SEED.clients, ...PROGRAMS, ...DIRECTORIES, BREAKER] } },
)
const { users, clients, audit } = server.server.oauth
const password = 'a password of somebody'
let count = 0

interface Sent {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Sends all but the last byte, and that one after `meanwhile`; returns the status. */
async function sendSlowly({ path, headers, body }: Sent, meanwhile: () => Promise<unknown>): Promise<number> {
  const { hostname, port, host } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  const all = { host, 'content-length': String(Buffer.byteLength(body)), connection: 'close', ...headers }
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`POST ${path} HTTP/1.1\r\n${head.join('')}\r\n${body.slice(0, -1)}`)
  // Whoever comes after it is answered: what stands at the door has been looked at.
  for (let turn = 0; turn < 3; turn++) await server.get('/account', headers)
  await meanwhile()
  const answered = once(socket, 'data') as Promise<[Buffer]>
  socket.write(body.slice(-1))
  const [answer] = await answered
  socket.destroy()
  return Number(String(answer).split(' ')[1])
}

const formOf = (
  action: string,
  fields: Readonly<Record<string, string>>,
  cookies: ReadonlyMap<string, string>,
): Sent => ({
  path: new URL(action).pathname,
  headers: {
    'content-type': 'application/x-www-form-urlencoded',
    origin: new URL(server.url).origin,
    cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
  },
  body: new URLSearchParams(fields).toString(),
})

test.each(Object.entries(ACCOUNT))('a form of the account, and a session that ended: %s', async (_, { open }) => {
  const { agent, action, fields } = await open(server)
  const [, username] = /id="signed-in-as"><bdi>([^<]*)/.exec((await agent.get(`${server.url}/account`)).body)!
  let before: unknown
  const status = await sendSlowly(formOf(action, fields, agent.cookies), async () => {
    await users.setPassword(username!, 'a password of the owner')
    before = await stateOf(server)
  })
  expect([status, await stateOf(server)]).toEqual([403, before])
}) // prettier-ignore

test.each([
  ['whose session ended', async (id: string) => users.setPassword({ id }, 'another password')],
  ['who lost the role', async (id: string) => users.update({ id }, { roles: [] })],
  ['who is disabled', async (id: string) => users.disable({ id })],
] as const)('a form of an administrator %s', async (_, end) => {
  const username = `administrator-${++count}`
  const { id } = await users.create({ username, password, roles: ['admin'] })
  const agent = await signedIn(server, { username, password })
  const page = await agent.get(`${server.url}/admin/users/new`)
  const fields = { ...findForm(page, 'user')!.fields, username: `friend-${count}`, password: 'a password of a friend', roles: 'admin' }
  const sent = formOf(page.url, fields, agent.cookies)
  expect(await sendSlowly(sent, async () => end(id))).toBe(403)
  expect(await users.find(`friend-${count}`)).toBeNull()
}) // prettier-ignore

const json = { 'content-type': 'application/json' }
const PROGRAM_CALLS = {
  ...rowsWith('latchkey-admin-api', {
    'the administration': ['people', '/admin/api/v1/users', { username: 'made' }],
  }),
  ...rowsWith('latchkey-scim', {
    SCIM: ['directory', '/scim/v2/Users', { schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'], userName: 'made' }],
  }),
  ...rowsWith('latchkey-global-token-revocation', {
    'the end of everything': ['breaker', '/global-token-revocation', { sub_id: { format: 'email', email: 'alice@example.com' } }],
  }),
} as Readonly<Record<string, [string, string, object]>> // prettier-ignore

for (const [name, [client, path, members]] of Object.entries(PROGRAM_CALLS))
  test(`a program at ${name}: a token that was revoked, and a client that lost its scope`, async () => {
    const call = async () => ({
      path,
      headers: { ...json, ...bearer(await tokenOf(server, client)) },
      body: JSON.stringify(members),
    })
    const revoked = await call()
    const token = revoked.headers['authorization'].split(' ')[1]!
    const { client_secret: secret } = BREAKER
    const revoke = async () => server.post('/revoke', { token, client_id: client, client_secret: secret })
    expect(await sendSlowly(revoked, revoke)).toBe(401)
    const narrowed = await call()
    expect(await sendSlowly(narrowed, async () => clients.update(client, { scope: [] }))).toBe(403)
    const { scope } = [...PROGRAMS, ...DIRECTORIES, BREAKER].find(({ client_id: id }) => id === client)!
    await clients.update(client, { scope })
    expect(await users.find('made')).toBeNull()
    expect((await audit.list({ type: 'user.tokens_revoked' })).events).toEqual([])
    expect(await sendSlowly(await call(), async () => {})).toBeLessThan(300)
    await users.delete('made')
  })
