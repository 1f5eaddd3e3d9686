/** What a handler of an endpoint or a grant gets of a request. */
import { expect, test } from 'vitest'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { ClientAuthentication } from '../../src/doors/client.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import { createClient } from '../support/clients.ts'
import { startReceiver } from '../support/receiver.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { authorizationUrl, SEED } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const seen: Wire[] = []
/** By an assertion that is the client_id itself. */
const asserting: ClientAuthentication = {
  credentials: ['client_assertion'],
  recognizes: (_request, { client_assertion: assertion }) =>
    typeof assertion === 'string' ? [assertion] : null,
  authenticate: async (_request, { client_assertion: assertion }, client, claimed) =>
    assertion === 'a.wrong.answer' ? ({ valid: false } as never) : client !== null && assertion === claimed,
}

function addWatchers({ oauth }: FastifyInstance): void {
  const parameters = Type.Object({})
  oauth.register('clientAuthentication', 'asserting', asserting)
  oauth.add('parameter', {
    name: 'watched',
    schema: Type.String(),
    parse(raw, _client, wire) {
      seen.push(wire)
      return raw
    },
  })
  oauth.registerEndpoint({
    path: '/watched',
    metadata: 'watched_endpoint',
    parameters,
    async handle(_parameters, { client, wire }) {
      seen.push(wire)
      await oauth.parseApproval(client, { ...wire, scope: 'openid', client_secret: 'of a plugin' })
      return {}
    },
  })
  oauth.registerEndpoint({
    path: '/asking',
    metadata: 'asking_endpoint',
    parameters: Type.Object({ address: Type.String() }),
    handle: async ({ address }) => ({ status: (await fetch(address)).status }),
  })
  oauth.registerGrant({
    type: 'watched',
    parameters,
    async authorize(_parameters, { wire }) {
      seen.push(wire)
      return { scopes: new Set(['read']), resources: [] }
    },
  })
  oauth.add('policy', async (_granted, { wire }) => {
    seen.push(wire)
  })
}

const server = await startServer({}, { seed: SEED, extend: addWatchers })

test.each(['client_secret_post', 'asserting'])(
  'by %s: no handler, parameter or policy sees what proved the client; all see the rest',
  async (method) => {
    const client = await createClient(server, {
      token_endpoint_auth_method: method, grant_types: ['watched'], scope: ['read'],
    }) // prettier-ignore
    const { clientId: client_id, clientSecret: client_secret } = client
    const proof =
      method === 'asserting'
        ? { client_assertion: client_id, client_assertion_type: 'urn:example:asserting' }
        : { client_id, client_secret }
    const form = { ...proof, grant_type: 'watched', more: 'of it' }
    for (const path of ['/watched', '/token']) expect((await server.post(path, form)).status).toBe(200)
    // The endpoint and what it asked to parse, the grant, the policy.
    expect(seen).toHaveLength(4)
    for (const wire of seen.splice(0)) {
      expect(wire).toMatchObject({ more: 'of it' })
      expect(Object.keys(wire)).not.toContain('client_secret')
      expect(Object.keys(wire)).not.toContain('client_assertion')
    }
  },
)

test('what only looks like a yes lets nobody in', async () => {
  const form = { client_assertion: 'a.wrong.answer', client_assertion_type: 'urn:example:asserting' }
  const answer = await server.post('/watched', form)
  expect([answer.status, await answer.json()]).toEqual([500, expect.objectContaining({ error: 'server_error' })])
  expect(server.output()).toContain('the client authentication asserting must answer with true or false')
}) // prettier-ignore

test('an address that a plugin asks by itself, and that does not answer, is not told as the database', async () => {
  const { clientId: client_id, clientSecret: client_secret } = await createClient(server, { token_endpoint_auth_method: 'client_secret_post' })
  const there = await startReceiver((_request, response) => response.end())
  for (const address of [`http://127.0.0.1:${await freePort()}/`, `https://127.0.0.1:${there.port}/`, 'http://nowhere.invalid/']) {
    const answer = await server.post('/asking', { client_id, client_secret, address })
    expect([answer.status, await answer.json()]).toEqual([502, { error: 'server_error', error_description: expect.stringContaining('does not answer; its id is') as string }])
  }
  expect(server.output()).not.toContain('the database does not answer')
}) // prettier-ignore

test('nor does a parameter see a secret that was sent to the authorization endpoint', async () => {
  const address = authorizationUrl(server, { watched: 'yes', client_secret: 'by mistake' })
  await createUserAgent(server.url).get(address)
  expect(seen.splice(0)).toEqual([expect.not.objectContaining({ client_secret: expect.anything() })])
})
