/** The metadata with a signature over it (RFC 8414 §2.1): what it says, by which key, and when keys change. */
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, type JSONWebKeySet } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import { expect, test } from 'vitest'
import { startServer } from '../../support/server.ts'

const WELL_KNOWN = '/.well-known/oauth-authorization-server'
const server = await startServer({ OIDC_SIGNED_METADATA: 'true' })
const { keys } = server.server.oauth
type Document = Record<string, unknown> & { signed_metadata: string }
const read = async (path = WELL_KNOWN) => (await (await server.get(path)).json()) as Document
const verify = async (jwt: string) =>
  jwtVerify(jwt, createLocalJWKSet(JSON.parse(keys.jwks().toString()) as JSONWebKeySet), {
    issuer: server.url,
  })

test.each([WELL_KNOWN, '/.well-known/openid-configuration'])(
  '%s says the same inside and outside',
  async (path) => {
    const { signed_metadata: jwt, ...document } = await read(path)
    const { payload, protectedHeader } = await verify(jwt)
    expect(payload).toEqual({ ...document, iss: server.url, iat: expect.any(Number) as number })
    expect(protectedHeader).toMatchObject({ alg: 'RS256', typ: 'metadata+jwt' })
  },
)

test('clients read it as any', async () => {
  const issuer = new URL(server.url)
  const insecure = { [oauth4webapi.allowInsecureRequests]: true }
  const response = await oauth4webapi.discoveryRequest(issuer, insecure)
  expect(await oauth4webapi.processDiscoveryResponse(issuer, response)).toMatchObject({ issuer: server.url })
})

test('once another key signs, it does here too; what was read before can be verified still', async () => {
  const before = await read()
  const { kid } = await keys.rotate('RS256', 0)
  await expect.poll(async () => decodeProtectedHeader((await read()).signed_metadata).kid).toBe(kid)
  await verify((await read()).signed_metadata)
  await verify(before.signed_metadata)
})

test('where the key is revoked, nobody is left with its signature', async () => {
  const { kid } = decodeProtectedHeader((await read()).signed_metadata)
  await keys.revoke(kid!)
  await expect.poll(async () => decodeProtectedHeader((await read()).signed_metadata).kid).not.toBe(kid)
  expect(await verify((await read()).signed_metadata)).toMatchObject({ payload: { issuer: server.url } })
})

test('under a profile that has no RS256, it is by another key, and by the next of that', async () => {
  const held = await startServer({ OIDC_SIGNED_METADATA: 'true', OIDC_PROFILE: 'fapi-2.0' })
  const signature = async () => {
    const { signed_metadata: jwt } = (await (await held.get(WELL_KNOWN)).json()) as Document
    return decodeProtectedHeader(jwt)
  }
  expect(await signature()).toMatchObject({ alg: 'ES256', typ: 'metadata+jwt' })
  const { kid } = await held.server.oauth.keys.rotate('ES256', 0)
  await expect.poll(signature).toMatchObject({ alg: 'ES256', kid })
})

test('it is there only where it is asked for', async () => {
  const plain = await startServer()
  expect(await (await plain.get(WELL_KNOWN)).json()).not.toHaveProperty('signed_metadata')
})
