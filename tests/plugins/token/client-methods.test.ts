/** Ways for clients to prove who they are that plugins add: which of them judges a request, and what is left of it then. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { expect, test, vi } from 'vitest'
import type { ClientAuthentication } from '../../../src/doors/client.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import type { Wire } from '../../../src/protocol/wire.ts'
import { createClient } from '../../support/clients.ts'
import { createDatabase } from '../../support/database.ts'
import { basic, type Requests, requestsTo } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { addUserGrant, USER_GRANT } from '../../support/user-grant.ts'
import { rowsWith } from '../../support/left-out.ts'

const seen: Wire[] = []
const named = ({ client_id: id }: Wire): string[] => (typeof id === 'string' ? [id] : [])

/** Right where the parameter `credential` is `right` followed by the method's name; beside a client_id. */
function saying(right: string, credential: string): ClientAuthentication {
  return {
    credentials: [credential],
    recognizes: (_request, wire) => (wire[credential] === undefined ? null : named(wire)),
    authenticate: async (_request, wire, client) => client !== null && wire[credential] === right,
  }
}

/** By a header that a proxy sets on every connection it has a certificate of. */
const certified: ClientAuthentication = {
  credentials: [],
  implied: true,
  recognizes: ({ headers }, wire) => (headers['x-certificate'] === undefined ? null : named(wire)),
  authenticate: async ({ headers }, _wire, client) => headers['x-certificate'] === client?.clientId,
}

/** By the keys of its registration: `client_id:kid` names one that is there. */
const keyed: ClientAuthentication = {
  credentials: ['key'],
  recognizes: (_request, { key }) => (typeof key === 'string' ? [key.split(':')[0]!] : null),
  async authenticate(_request, { key }, client) {
    const { keys = [] } = (client?.metadata['jwks'] ?? {}) as { keys?: { kid?: string }[] }
    return keys.some(({ kid }) => key === `${client?.clientId}:${kid}`)
  },
}

function addMethods(server: FastifyInstance): void {
  const { oauth } = server
  addUserGrant(server)
  oauth.register('clientAuthentication', 'stamp', { ...saying('good stamp', 'paper'), algorithms: ['ES256'] })
  oauth.register('clientAuthentication', 'seal', {
    ...saying('good seal', 'paper'),
    algorithms: ['EdDSA', 'ES256'],
  })
  oauth.register('clientAuthentication', 'badge', saying('good badge', 'badge'))
  oauth.register('clientAuthentication', 'certificate', certified)
  oauth.register('clientAuthentication', 'keyed', keyed)
  oauth.registerEndpoint({
    path: '/watched',
    metadata: 'watched_endpoint',
    parameters: Type.Object({}),
    async handle(_parameters, { wire }) {
      seen.push(wire)
      return {}
    },
  })
}

const database = await createDatabase()
const server = await startServer({}, { database, extend: addMethods })
/** Another process of the same server. */
const other = await startServer({ ...server.settings, PORT: 0 }, { database, extend: addMethods })
const beside = requestsTo(other.server.listeningOrigin)

async function answer(
  form: Record<string, string>,
  headers: Record<string, string> = {},
  at: Requests = server,
) {
  const response = await at.post('/token', { grant_type: 'client_credentials', ...form }, headers)
  const { error } = (await response.json()) as { error?: string }
  return error === undefined ? response.status : `${response.status} ${error}`
}

async function registered(method: string): Promise<string> {
  const grant_types = method === 'none' ? [USER_GRANT] : ['client_credentials']
  const metadata = { token_endpoint_auth_method: method, grant_types, scope: ['a'] }
  return (await createClient(server, metadata)).clientId
}

const asUser = { grant_type: USER_GRANT, scope: 'a', user: 'ada' }

test('a method that goes by the client_id beside its proof is one method, not two', async () => {
  const client_id = await registered('badge')
  expect(await answer({ client_id, badge: 'good badge' })).toBe(200)
  expect(await answer({ client_id, badge: 'bad badge' })).toBe('401 invalid_client')
})

test('of two methods that read one proof, the one that the client is registered for judges', async () => {
  for (const [method, other] of [
    ['stamp', 'seal'],
    ['seal', 'stamp'],
  ] as const) {
    const client_id = await registered(method)
    expect(await answer({ client_id, paper: `good ${method}` })).toBe(200)
    expect(await answer({ client_id, paper: `good ${other}` })).toBe('401 invalid_client')
  }
})

test('two methods with proofs of their own are two at once, whoever the client is', async () => {
  const client_id = await registered('badge')
  const both = { client_id, badge: 'good badge', paper: 'good stamp' }
  expect(await answer(both)).toBe('400 invalid_request')
  expect(await answer({ badge: 'good badge' }, basic(client_id, 'x'))).toBe('400 invalid_request')
  expect(await answer({ ...both, client_id: 'nobody' })).toBe('400 invalid_request')
})

test('what is there without being meant as a proof is no second method, and the registered one judges', async () => {
  const certificate = (clientId: string) => ({ 'x-certificate': clientId })
  const holder = await registered('certificate')
  expect(await answer({ client_id: holder }, certificate(holder))).toBe(200)
  expect(await answer({ client_id: holder }, certificate('another'))).toBe('401 invalid_client')
  expect(await answer({ client_id: holder })).toBe('401 invalid_client')

  const open = await registered('none')
  expect(await answer({ ...asUser, client_id: open }, certificate('whoever'))).toBe(200)

  const { clientId, basic } = await createClient(server, { scope: ['a'] })
  expect(await answer({}, { ...basic, ...certificate(clientId) })).toBe(200)
  expect(await answer({ client_id: clientId }, certificate(clientId))).toBe('401 invalid_client')
})

test('no client falls back to a method that it is not registered for; the log says so loudly', async () => {
  const sealed = await registered('seal')
  const { clientId, clientSecret } = await createClient(server, {
    scope: ['a'],
    token_endpoint_auth_method: 'client_secret_post',
  })
  const wrong = [
    await server.post('/token', { ...asUser, client_id: sealed }),
    await server.post('/token', { ...asUser, client_id: sealed, badge: 'good badge' }),
    await server.post('/token', asUser, basic(clientId, clientSecret)),
    await server.post('/token', { ...asUser, client_id: 'nobody', badge: 'good badge' }),
  ]
  expect(new Set(wrong.map(({ status }) => status))).toEqual(new Set([401]))
  expect(new Set(await Promise.all(wrong.map(async (one) => one.text()))).size).toBe(1)
  const lines = server.output().split('\n')
  const loud = lines.filter((line) => line.includes('by another method than it is registered for'))
  const told = loud.map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(told.slice(-3)).toMatchObject([
    { level: 'warn', client: sealed, used: 'none', registered: 'seal' },
    { level: 'warn', client: sealed, used: 'badge', registered: 'seal' },
    { level: 'warn', client: clientId, used: 'client_secret_basic', registered: 'client_secret_post' },
  ])
})

test('a client of which memory keeps nothing, as while others change, is named where it fails', async () => {
  const client_id = await registered('badge')
  const { directory } = kernelOf(server.server)
  const peek = vi.spyOn(directory, 'cachedClient').mockReturnValue(undefined)
  expect(await answer({ client_id, badge: 'bad badge' })).toBe('401 invalid_client')
  peek.mockRestore()
  const { audit } = server.server.oauth
  const types = async () => (await audit.list({ client: client_id })).events.map(({ type }) => type)
  await expect.poll(types).toContain('client.authentication_failed')
})

test('no handler sees what a method of a plugin reads', async () => {
  const client_id = await registered('badge')
  const response = await server.post('/watched', { client_id, badge: 'good badge', paper: '', more: 'of it' })
  expect(response.status).toBe(200)
  expect(seen.splice(0)).toEqual([{ client_id, more: 'of it' }])
})

test('keys that another process changed are accepted at once, and by the registered method', async () => {
  const client_id = await registered('keyed')
  const { clients } = server.server.oauth
  for (let round = 0; round < 8; round++) {
    await clients.update(client_id, { jwks: { keys: [{ kty: 'of the plugin', kid: `key ${round}` }] } })
    expect([round, await answer({ key: `${client_id}:key ${round}` }, {}, beside)]).toEqual([round, 200])
  }
  await clients.update(client_id, { token_endpoint_auth_method: 'badge' })
  expect(await answer({ client_id, badge: 'good badge' }, {}, beside)).toBe(200)
  expect(await answer({ key: `${client_id}:key 7` }, {}, beside)).toBe('401 invalid_client')
})

test('what each endpoint takes is made from what is registered, and from which clients may call it', async () => {
  const document = (await (await server.get('/.well-known/openid-configuration')).json()) as object
  const confidential = [
    'client_secret_basic', 'client_secret_post', 'stamp', 'seal', 'badge', 'certificate', 'keyed', 'private_key_jwt',
    'client_secret_jwt',
    ...rowsWith('latchkey-federated-jwt', ['federated_jwt']),
  ] // prettier-ignore
  const all = [...confidential, 'none']
  for (const [endpoint, methods] of Object.entries({
    token_endpoint: all,
    revocation_endpoint: all,
    introspection_endpoint: confidential,
  })) {
    const member = (name: string): unknown => (document as Record<string, unknown>)[`${endpoint}_${name}`]
    expect((member('auth_methods_supported') as string[]).toSorted()).toEqual(methods.toSorted())
    expect(member('auth_signing_alg_values_supported')).toEqual(
      expect.arrayContaining(['ES256', 'EdDSA', 'RS256']),
    )
  }
})

test('a client may name only an algorithm that its method takes', async () => {
  const metadata = { token_endpoint_auth_method: 'stamp', scope: ['a'] }
  await createClient(server, { ...metadata, token_endpoint_auth_signing_alg: 'ES256' })
  await expect(
    createClient(server, { ...metadata, token_endpoint_auth_signing_alg: 'EdDSA' }),
  ).rejects.toThrow('token_endpoint_auth_signing_alg must be one of ES256')
})
