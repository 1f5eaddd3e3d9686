/**
 * An administrator shuts out a document or a host: what it had ends, everywhere, and does not come back with it.
 * @needs latchkey-client-documents
 */
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { createClient, introspect } from '../../support/clients.ts'
import { startDocumentHost } from '../../support/document-host.ts'
import { bearer } from '../../support/requests.ts'
import { startBeside, startServer } from '../../support/server.ts'
import {
  answerOf,
  ALICE,
  authorizationUrl,
  createPkce,
  goThrough,
  REDIRECT_URI,
  SEED,
  type Tokens,
} from '../../support/sign-in.ts'
import { createUserAgent, findForm } from '../../support/user-agent.ts'

const host = await startDocumentHost()
const admin = { ...ALICE, roles: ['admin'] }
const settings = { OIDC_CLIENT_METADATA_DOCUMENTS: 'any', UNSAFE_OUTBOUND_ORIGINS: host.origin }
const server = await startServer(settings, { seed: { ...SEED, users: [admin] } })
const other = await startBeside(server)
const kernel = kernelOf(server.server)
const api = await createClient(server, {
  client_id: 'api',
  scope: ['token_introspection', host.at('one.json'), host.at('two.json')],
})
const { challenge, verifier } = createPkce()
const agent = createUserAgent(server.url)
const urlFor = (clientId: string) =>
  authorizationUrl(server, { client_id: clientId, code_challenge: challenge, code_challenge_method: 'S256' })

async function tokensOf(clientId: string): Promise<Tokens> {
  const answer = answerOf(await goThrough(agent, await agent.get(urlFor(clientId))))
  const form = { grant_type: 'authorization_code', code: answer.get('code')!, redirect_uri: REDIRECT_URI, client_id: clientId, code_verifier: verifier } // prettier-ignore
  const response = await server.post('/token', form)
  expect(response.status).toBe(200)
  return (await response.json()) as Tokens
}

async function lifeOf(at: typeof server, clientId: string, { access_token, refresh_token }: Tokens) {
  const refreshed = await at.post('/token', {
    grant_type: 'refresh_token',
    refresh_token,
    client_id: clientId,
  })
  await refreshed.body?.cancel()
  const userinfo = await at.get('/userinfo', bearer(access_token))
  const { active } = await introspect(at, api, access_token)
  return { refresh: refreshed.status, userinfo: userinfo.status, active }
}
const DEAD = { refresh: 401, userinfo: 401, active: false }

const page = async (query = '') => agent.get(`${server.url}/admin/unregistered${query}`)
const block = async (name: string) => agent.submit(await page(), 'block', { name })
const seen = async () => {
  await kernelOf(other.server).feed.announce('client', 'https://poll.example/')
}

test.each(['one.json', ''])('what is blocked by %j has nothing any more, and begins anew when it is let in again', async (name) => {
  const [one, two] = [host.publish('one.json'), host.publish('two.json')]
  const [ofOne, ofTwo] = [await tokensOf(one), await tokensOf(two)]
  expect((await other.get('/userinfo', bearer(ofOne.access_token))).status).toBe(200)
  expect((await agent.get(`${server.url}/admin/client?client_id=${one}`)).body).toContain(`Block all of <bdi>${host.host}`)
  expect((await agent.get(`${server.url}/admin/client/authorizations?client_id=${one}`)).body).toContain('alice')

  const told = await block(name === '' ? host.host : one)
  expect(told.body).toContain('what it had of people has ended')
  await seen()
  for (const at of [server, other]) expect(await lifeOf(at, one, ofOne)).toEqual(DEAD)
  const refused = await agent.get(urlFor(one))
  expect([refused.status, refused.body.includes('no app is registered')]).toEqual([400, true])
  const isTwoDead = (await server.get('/userinfo', bearer(ofTwo.access_token))).status === 401
  expect(isTwoDead).toBe(name === '')

  expect((await agent.submit(await page(), 'unblock-0')).body).toContain('Nothing is blocked.')
  await seen()
  for (const at of [server, other]) expect({ ...(await lifeOf(at, one, ofOne)), refresh: 400 }).toEqual({ ...DEAD, refresh: 400 })
  expect(findForm(await agent.get(urlFor(one)), 'consent')).toBeDefined()
  const anew = await tokensOf(one)
  expect((await other.get('/userinfo', bearer(anew.access_token))).status).toBe(200)
}) // prettier-ignore

test('what is no name of an app is refused with a word at its field', async () => {
  for (const name of [
    '',
    'https://app.example/',
    'not a host',
    'https://app.example/#x',
    'https://app.example./x',
    '*.example',
    'a'.repeat(300),
  ]) {
    const told = await block(name)
    expect([told.status, told.body.includes('neither the address of an app nor a host')]).toEqual([400, true])
  }
  expect((await page('?client_id=https://nobody.example/client.json')).body).toContain('nobody.example')
  expect((await page('?client_id=nothing')).status).toBe(200)
})

test('the log says who blocked what', async () => {
  await block('bad.example')
  await block('bad.example')
  const types = ['client.blocked', 'client.unblocked'] as const
  const { events } = await kernel.audit.list({})
  const told = events.filter(({ type }) => types.some((one) => one === type))
  expect(told[0]).toMatchObject({ type: 'client.blocked', details: { blocked: 'bad.example' }, actor: { kind: 'user' } })
  expect(told.filter(({ details }) => (details as { blocked: string }).blocked === 'bad.example')).toHaveLength(1)
}) // prettier-ignore
