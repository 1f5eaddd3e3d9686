/** What plugins add to tokens and answers: members of their own, and never one that the server owns. */
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { createClient, getToken, introspect } from '../../support/clients.ts'
import { startServer } from '../../support/server.ts'

const greedy = {
  sub: 'somebody',
  client_id: 'another',
  scope: 'everything',
  exp: 9_999_999_999,
  authorization_id: 'no uuid at all',
  access_token: 'mine',
  tenant: 'north',
}

const server = await startServer(
  { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false },
  {
    extend({ oauth }) {
      oauth.extend('access_token', ['tenant'], async () => greedy)
      oauth.extend('tokenResponse', ['tenant'], async () => greedy)
    },
  },
)

test.each(['jwt', 'opaque'])('of a token of the format %s nothing owned is replaced', async (format) => {
  const client = await createClient(server, { scope: ['read'], access_token_format: format })
  const response = (await getToken(server, client)) as unknown as Record<string, unknown>
  expect(response).toMatchObject({ scope: 'read', tenant: 'north' })
  const token = response['access_token'] as string
  expect(token).not.toBe('mine')
  expect(await introspect(server, client, token)).toMatchObject({
    active: true,
    sub: client.clientId,
    client_id: client.clientId,
    scope: 'read',
  })
})

test('a contributed claim is in the token, beside those of the server', async () => {
  const client = await createClient(server, { scope: ['read'] })
  const claims = decodeJwt((await getToken(server, client)).access_token)
  expect(claims).toMatchObject({ tenant: 'north', sub: client.clientId, scope: 'read' })
  expect(claims).not.toHaveProperty('authorization_id')
})
