/** What the resource servers of others demand of an access token that they verify by themselves. */
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { createClient, getToken, introspect } from '../support/clients.ts'
import { exchangeAs } from '../support/code-flow.ts'
import { startServer } from '../support/server.ts'
import { authorize, REDIRECT_URI, SEED } from '../support/sign-in.ts'

const MCP = 'https://mcp.example/mcp'
const seed = {
  ...SEED,
  resources: [{ resource: MCP, scopes: ['use_tools'] }],
  scopes: [...SEED.scopes, { name: 'use_tools', description: 'Use the tools', resource: MCP }],
}
const server = await startServer({}, { seed })
const jwks = createRemoteJWKSet(new URL(`${server.url}/jwks`))
const client = await createClient(server, { redirect_uri: REDIRECT_URI, scope: ['use_tools', 'read_books'] })

async function ofUser(more: Record<string, string>): Promise<string> {
  const asked = { client_id: client.clientId, scope: 'openid use_tools read_books', ...more }
  const code = (await authorize(server, asked)).get('code')!
  return (await exchangeAs(server, client, code)).tokens.access_token
}

const KINDS = {
  'of a user': async () => ofUser({}),
  'of a service': async () => (await getToken(server, client)).access_token,
}

describe.each(Object.keys(KINDS) as (keyof typeof KINDS)[])('a token %s', (kind) => {
  test("spring-security: the RFC 9068 validator's type and seven claims", async () => {
    const { payload } = await jwtVerify(await KINDS[kind](), jwks, {
      issuer: server.url,
      audience: server.url,
      typ: 'at+jwt',
      requiredClaims: ['iss', 'aud', 'exp', 'iat', 'sub', 'jti', 'client_id'],
    })
    expect(payload).toMatchObject({ client_id: client.clientId, jti: expect.any(String) as string })
    for (const time of [payload.exp, payload.iat]) expect(time).toBeTypeOf('number')
  })

  test('resource servers of Node: one algorithm for all, and a kid', async () => {
    const header = decodeProtectedHeader(await KINDS[kind]())
    expect(header).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) as string })
  })
})

test('mcp-sdk-1, mcp-client-2, mcp-python: aud is the resource that was asked for, as one string', async () => {
  const { payload } = await jwtVerify(await ofUser({ scope: 'use_tools', resource: MCP }), jwks, {
    audience: MCP,
    typ: 'at+jwt',
  })
  expect(payload).toMatchObject({ aud: MCP, scope: 'use_tools', client_id: client.clientId })
  expect(payload.exp).toBeTypeOf('number')
})

test('mod_oauth2: active and client_id of introspection', async () => {
  const told = await introspect(server, client, await ofUser({}))
  expect(told).toMatchObject({ active: true, client_id: client.clientId })
})
