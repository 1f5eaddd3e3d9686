/** What a grant establishes, and what becomes of it: stored with the Authorization, and there again when a token is looked at. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { expect, test } from 'vitest'
import type { Granted } from '../../../src/doors/facts.ts'
import { createClient, requestToken, type TestClient } from '../../support/clients.ts'
import { startServer, type TestServer } from '../../support/server.ts'

const GRANT = 'urn:example:facts'
/** What the next request is granted beside the scope and the user. */
let facts: Partial<Granted> = {}

function addGrant({ oauth }: FastifyInstance): void {
  oauth.registerGrant({
    type: GRANT,
    parameters: Type.Object({}),
    authorize: async () => ({
      subject: 'ada',
      scopes: new Set(['read']),
      resources: [],
      refreshable: true,
      ...facts,
    }),
  })
}

const server = await startServer({}, { extend: addGrant })
const jwts = await createClient(server, { scope: ['read'], grant_types: [GRANT, 'refresh_token'] })
const opaques = await createClient(server, {
  scope: ['read'],
  grant_types: [GRANT, 'refresh_token'],
  access_token_format: 'opaque',
})
const formats = [
  ['jwt', jwts],
  ['opaque', opaques],
] as const

async function granted(
  client: TestClient,
  given: Partial<Granted> = {},
  form: Record<string, string> = { grant_type: GRANT },
  { at = server }: { at?: TestServer } = {},
): Promise<Record<string, unknown>> {
  facts = given
  const response = await requestToken(at, client, form)
  return { status: response.status, ...((await response.json()) as object) }
}

async function refreshed(client: TestClient, { refresh_token }: Record<string, unknown>) {
  return granted(client, {}, { grant_type: 'refresh_token', refresh_token: String(refresh_token) })
}

async function verified({ access_token }: Record<string, unknown>) {
  return server.server.oauth.verify(String(access_token))
}

test.each(formats)('a binding lives on with the Authorization of a token (%s)', async (_format, client) => {
  const binding = { tokenType: 'DPoP', cnf: { jkt: 'thumbprint' } }
  const first = await granted(client, { binding })
  expect((await verified(first))?.authorization?.binding).toEqual(binding)
  const second = await refreshed(client, first)
  expect((await verified(second))?.authorization?.binding).toEqual(binding)
})
