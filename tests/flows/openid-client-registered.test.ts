/** What an app may register or ask for beyond the usual, as `openid-client`, unmodified, checks it. */
import { decodeProtectedHeader } from 'jose'
import * as client from 'openid-client'
import { describe, expect, test } from 'vitest'
import { addressOf, createApp, getTokensFor } from '../support/relying-party.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { ALICE, answerOf, goThrough, REDIRECT_URI, SEED } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const BOOKS = 'https://books.example'
const seed = {
  ...SEED,
  resources: [{ resource: BOOKS, scopes: ['read_books'] }],
  scopes: [{ name: 'read_books', description: 'Read your books', resource: BOOKS }],
}
const server = await startServer({ OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false }, { seed })
const ALGORITHMS = ['RS256', 'ES256', 'PS256', 'EdDSA']

describe.each(ALGORITHMS)('signatures by %s', (alg) => {
  test('of ID tokens', async () => {
    const config = await createApp(server, { id_token_signed_response_alg: alg })
    const { id_token } = await getTokensFor(config)
    expect(decodeProtectedHeader(id_token!)).toMatchObject({ alg, kid: expect.any(String) as string })
  })

  test('of userinfo', async () => {
    const config = await createApp(server, { userinfo_signed_response_alg: alg })
    const tokens = await getTokensFor(config, { scope: 'openid email' })
    const userinfo = await client.fetchUserInfo(config, tokens.access_token, tokens.claims()!.sub)
    const aud = config.clientMetadata().client_id
    expect(userinfo).toMatchObject({ iss: server.url, aud, email: ALICE.email })
  })
})

test('pairwise: one person is another to each sector, and the same in all that one app sees', async () => {
  const subjects = []
  for (const host of ['one.example', 'two.example']) {
    const redirect_uri = `https://${host}/callback`
    const config = await createApp(server, { redirect_uri, subject_type: 'pairwise' })
    const tokens = await getTokensFor(config, { redirect_uri })
    const { sub } = tokens.claims()!
    await client.fetchUserInfo(config, tokens.access_token, sub)
    const told = await client.tokenIntrospection(config, tokens.access_token)
    expect(told.sub).toBe(sub)
    subjects.push(sub)
  }
  expect(new Set(subjects).size).toBe(2)
})

test('claims: each lands where it was asked for', async () => {
  const config = await createApp(server)
  const asked = { id_token: { given_name: null }, userinfo: { phone_number: { essential: true } } }
  const tokens = await getTokensFor(config, { claims: JSON.stringify(asked) })
  expect(tokens.claims()).toMatchObject({ given_name: ALICE.given_name })
  expect(tokens.claims()).not.toHaveProperty('phone_number')
  const userinfo = await client.fetchUserInfo(config, tokens.access_token, tokens.claims()!.sub)
  expect(userinfo).toEqual({ sub: tokens.claims()!.sub, phone_number: ALICE.phone_number })
})

test('resource: the access token is for the API alone, and userinfo has no use for it', async () => {
  const config = await createApp(server)
  const tokens = await getTokensFor(config, { scope: 'openid read_books', resource: BOOKS })
  expect((await client.tokenIntrospection(config, tokens.access_token)).aud).toBe(BOOKS)
  const refused = client.fetchUserInfo(config, tokens.access_token, tokens.claims()!.sub)
  await expect(refused).rejects.toBeInstanceOf(client.WWWAuthenticateChallengeError)
})

test('opaque access tokens: good at userinfo and introspection, and renewed', async () => {
  const config = await createApp(server, { access_token_format: 'opaque' })
  const tokens = await getTokensFor(config)
  expect(tokens.access_token).not.toContain('.')
  const { sub } = tokens.claims()!
  await client.fetchUserInfo(config, tokens.access_token, sub)
  expect(await client.tokenIntrospection(config, tokens.access_token)).toMatchObject({ active: true, sub })
  const renewed = await client.refreshTokenGrant(config, tokens.refresh_token!)
  expect(renewed.access_token).not.toContain('.')
  await client.fetchUserInfo(config, renewed.access_token, sub)
})

test('an issuer with a path: sign-in, userinfo, sign-out, and its home page with and without a slash', async () => {
  const port = await freePort()
  const below = await startServer(
    { PORT: port, OIDC_ISSUER: `http://127.0.0.1:${port}/auth` },
    { seed: SEED },
  )
  const home = 'https://app.example/bye'
  const config = await createApp(below, { post_logout_redirect_uris: [home] })
  const agent = createUserAgent(below.url)
  const tokens = await getTokensFor(config, { scope: 'openid email' }, agent)
  expect(tokens.claims()).toMatchObject({ iss: below.url })
  await client.fetchUserInfo(config, tokens.access_token, tokens.claims()!.sub)
  const parameters = { id_token_hint: tokens.id_token!, post_logout_redirect_uri: home }
  const page = await agent.get(client.buildEndSessionUrl(config, parameters))
  expect(page.headers.get('location')).toBe(home)
  for (const path of ['', '/']) expect((await below.get(path)).status).toBe(200)
})

test('behind a proxy that ends TLS: everything names the https issuer, and cookies are bound to it', async () => {
  const port = await freePort()
  const issuer = 'https://login.example.com'
  const inside = `http://127.0.0.1:${port}`
  const proxied = await startServer({ PORT: port, OIDC_ISSUER: issuer }, { seed: SEED })
  const { client_id, client_secret } = await proxied.server.oauth.clients.create({
    redirect_uri: REDIRECT_URI,
  })
  const forward = (url: string) => inside + url.slice(issuer.length)
  const config = await client.discovery(new URL(issuer), client_id!, client_secret, undefined, {
    [client.customFetch]: async (url, options) => fetch(forward(url), options as RequestInit),
  })
  const agent = createUserAgent(inside, { origin: issuer })
  const page = await goThrough(agent, await agent.get(forward(addressOf(config).href)))
  expect(answerOf(page).get('iss')).toBe(issuer)
  expect([...agent.cookies.keys()].every((name) => name.startsWith('__Host-'))).toBe(true)
  const tokens = await client.authorizationCodeGrant(config, new URL(page.headers.get('location')!))
  expect(tokens.claims()!.iss).toBe(issuer)
  await client.fetchUserInfo(config, tokens.access_token, tokens.claims()!.sub)
})
