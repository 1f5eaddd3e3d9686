/** Nonces of the server in DPoP proofs (RFC 9449 §8, §9): who needs one, and how it is got. How it ages: require-scope/dpop.test.ts. */
import { expect, test } from 'vitest'
import { createClient, type TestClient } from '../../support/clients.ts'
import { createDpopKey, prove } from '../../support/dpop.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'

const extend: NonNullable<NonNullable<Parameters<typeof startServer>[1]>['extend']> = (app) => {
  app.get('/books', { config: { scope: 'read' } }, async ({ token }) => ({ reader: token.subject }))
}
const free = await startServer({}, { extend })
const strict = await startServer({ OIDC_REQUIRE_DPOP_NONCE: true }, { extend })
const key = await createDpopKey()

interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  readonly nonce: string | null
  readonly challenge: string | null
}

async function answered(responding: Promise<Response>): Promise<Answer> {
  const response = await responding
  const [nonce, challenge] = ['dpop-nonce', 'www-authenticate'].map((name) => response.headers.get(name))
  const body = (await response.json()) as Record<string, unknown>
  return { status: response.status, body, nonce: nonce!, challenge: challenge! }
}

async function ask(server: TestServer, client: TestClient, nonce?: string): Promise<Answer> {
  const dpop = await prove(key, { method: 'POST', url: `${server.url}/token`, nonce })
  return answered(server.post('/token', { grant_type: 'client_credentials' }, { ...client.basic, dpop }))
}

async function present(server: TestServer, token: string, nonce?: string): Promise<Answer> {
  const dpop = await prove(key, { method: 'GET', url: `${server.url}/books`, token, nonce })
  return answered(server.get('/books', { authorization: `DPoP ${token}`, dpop }))
}

const NONCE = /^[\w-]{43}$/
const refused = { status: 400, body: { error: 'use_dpop_nonce' }, nonce: expect.stringMatching(NONCE) }

test('where it is demanded, a client is told to take one, at the token endpoint and with a token', async () => {
  const client = await createClient(strict, { scope: ['read'] })
  const told = await ask(strict, client)
  expect(told).toMatchObject(refused)
  const given = await ask(strict, client, told.nonce!)
  expect(given).toMatchObject({ status: 200, body: { token_type: 'DPoP' }, nonce: null })

  const token = String(given.body['access_token'])
  const toldHere = await present(strict, token)
  expect(toldHere).toMatchObject({ ...refused, status: 401 })
  expect(toldHere.challenge).toMatch(/^DPoP realm="[^"]+", algs="ES256 [^"]+", error="use_dpop_nonce", /)
  expect(await present(strict, token, toldHere.nonce!)).toMatchObject({ status: 200, nonce: null })
})

test('who sends no proof needs no nonce', async () => {
  const client = await createClient(strict, { scope: ['read'] })
  const response = await strict.post('/token', { grant_type: 'client_credentials' }, client.basic)
  expect([response.status, response.headers.get('dpop-nonce')]).toEqual([200, null])
})

test('a client may want it for itself', async () => {
  const client = await createClient(free, { scope: ['read'], require_dpop_nonce: true })
  const { nonce, ...told } = await ask(free, client)
  expect({ nonce, ...told }).toMatchObject(refused)
  const { body } = await ask(free, client, nonce!)
  const token = String(body['access_token'])
  expect(await present(free, token)).toMatchObject({ status: 401, body: { error: 'use_dpop_nonce' } })
  expect(await present(free, token, nonce!)).toMatchObject({ status: 200 })
})

test('where it is not demanded, none is given, and one that is not ours is refused all the same', async () => {
  const client = await createClient(free, { scope: ['read'] })
  expect(await ask(free, client)).toMatchObject({ status: 200, nonce: null })
  const told = await ask(free, client, 'made-up')
  expect(told).toMatchObject(refused)
  expect(await ask(free, client, told.nonce!)).toMatchObject({ status: 200 })
})

test('another process gives the same, also after a restart, and another server others', async () => {
  const PORT = await freePort()
  const settings = { ...free.settings, PORT, OIDC_ISSUER: free.url }
  const second = await startServer(settings, { database: free.database })
  const client = await createClient(free, { scope: ['read'], require_dpop_nonce: true })
  const { nonce } = await ask(free, client)
  const proof = await prove(key, { method: 'POST', url: `${free.url}/token`, nonce: nonce! })
  const form = { grant_type: 'client_credentials' }
  const response = await fetch(`http://127.0.0.1:${PORT}/token`, {
    method: 'POST',
    headers: { ...client.basic, dpop: proof },
    body: new URLSearchParams(form),
  })
  expect(response.status).toBe(200)
  await second.close()
  const elsewhere = await createClient(strict, { scope: ['read'] })
  expect(await ask(strict, elsewhere, nonce!)).toMatchObject(refused)
})

test('a browser may read it', async () => {
  const client = await createClient(strict, { scope: ['read'] })
  const dpop = await prove(key, { method: 'POST', url: `${strict.url}/token` })
  const headers = { ...client.basic, dpop, origin: 'https://spa.example' }
  const response = await strict.post('/token', { grant_type: 'client_credentials' }, headers)
  expect(response.headers.get('access-control-expose-headers')).toContain('DPoP-Nonce')
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  expect(response.headers.get('dpop-nonce')).toMatch(NONCE)
})
