/** A login as `openid-client`, unmodified, does it: the code flow, then all that an app does with its tokens. */
import * as client from 'openid-client'
import { describe, expect, test } from 'vitest'
import { addressOf, createApp, getTokensFor, signInTo } from '../support/relying-party.ts'
import { startServer } from '../support/server.ts'
import { ALICE, goThrough, REDIRECT_URI, SEED } from '../support/sign-in.ts'
import { createUserAgent, findForm } from '../support/user-agent.ts'

const server = await startServer({ OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false }, { seed: SEED })

async function createPkce() {
  const verifier = client.randomPKCECodeVerifier()
  return { verifier, code_challenge: await client.calculatePKCECodeChallenge(verifier) }
}

describe.each([
  ['a web app without PKCE', {}, false],
  ['a web app with PKCE', {}, true],
  ['a public client with PKCE', { token_endpoint_auth_method: 'none' }, true],
])('%s', (_name, metadata, pkce) => {
  test('signs in, asks who it is, refreshes, and gives its tokens back', async () => {
    const config = await createApp(server, metadata)
    const { verifier, code_challenge } = await createPkce()
    const [state, nonce] = [client.randomState(), client.randomNonce()]
    const asked = {
      scope: 'openid profile email read_books',
      state,
      nonce,
      ...(pkce ? { code_challenge, code_challenge_method: 'S256' } : {}),
    }
    const tokens = await client.authorizationCodeGrant(config, await signInTo(config, asked), {
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
      ...(pkce ? { pkceCodeVerifier: verifier } : {}),
    })
    expect(tokens.scope).toBe(asked.scope)
    const { sub } = tokens.claims()!
    const userinfo = await client.fetchUserInfo(config, tokens.access_token, sub)
    expect(userinfo).toMatchObject({ sub, name: ALICE.name, email: ALICE.email })

    const renewed = await client.refreshTokenGrant(config, tokens.refresh_token!)
    expect(renewed.claims()!.sub).toBe(sub)
    await client.fetchUserInfo(config, renewed.access_token, sub)
    await client.tokenRevocation(config, renewed.refresh_token!)
    await expect(client.refreshTokenGrant(config, renewed.refresh_token!)).rejects.toMatchObject({
      error: 'invalid_grant',
    })
    const refused = client.fetchUserInfo(config, renewed.access_token, sub)
    await expect(refused).rejects.toBeInstanceOf(client.WWWAuthenticateChallengeError)
  })
})

test('a wrong verifier is refused in words that the app can read', async () => {
  const config = await createApp(server)
  const { code_challenge } = await createPkce()
  const callback = await signInTo(config, { code_challenge, code_challenge_method: 'S256' })
  const pkceCodeVerifier = client.randomPKCECodeVerifier()
  const refused = client.authorizationCodeGrant(config, callback, { pkceCodeVerifier })
  await expect(refused).rejects.toMatchObject({ error: 'invalid_grant', status: 400 })
})

test('introspection: the app may look at its own token', async () => {
  const config = await createApp(server)
  const tokens = await getTokensFor(config, { scope: 'openid read_books' })
  const told = await client.tokenIntrospection(config, tokens.access_token)
  const { client_id } = config.clientMetadata()
  expect(told).toMatchObject({ active: true, sub: tokens.claims()!.sub, client_id })
})

test('form_post: the answer comes by a form that the browser sends', async () => {
  const config = await createApp(server)
  const agent = createUserAgent(server.url)
  const state = client.randomState()
  const address = addressOf(config, { response_mode: 'form_post', state })
  const page = await goThrough(agent, await agent.get(address))
  const { action, method, fields } = findForm(page, 'form-post')!
  expect([action, method]).toEqual([REDIRECT_URI, 'post'])
  const answer = new Request(action, { method, body: new URLSearchParams(fields) })
  const tokens = await client.authorizationCodeGrant(config, answer, { expectedState: state })
  expect(tokens.claims()!.sub).toBeTruthy()
})

describe('prompt and max_age', () => {
  test('max_age: the ID token says when the user signed in', async () => {
    const config = await createApp(server)
    const callback = await signInTo(config, { max_age: '60' })
    const tokens = await client.authorizationCodeGrant(config, callback, { maxAge: 60 })
    expect(tokens.claims()!.auth_time).toBeTypeOf('number')
  })

  test('max_age=0 and prompt=login ask a user who is signed in for the password again', async () => {
    const config = await createApp(server)
    const agent = createUserAgent(server.url)
    await getTokensFor(config, {}, agent)
    for (const asked of [{ max_age: '0' }, { prompt: 'login' }]) {
      expect(findForm(await agent.get(addressOf(config, asked)), 'login')).toBeDefined()
      expect((await getTokensFor(config, asked, agent)).claims()!.sub).toBeTruthy()
    }
  })

  test('prompt=consent asks a user who has allowed it again', async () => {
    const config = await createApp(server)
    const agent = createUserAgent(server.url)
    await getTokensFor(config, {}, agent)
    const page = await agent.get(addressOf(config, { prompt: 'consent' }))
    expect(findForm(page, 'consent')).toBeDefined()
  })

  test('prompt=none: never a page, but login_required, consent_required or a code', async () => {
    const agent = createUserAgent(server.url)
    const asked = { prompt: 'none' }
    const config = await createApp(server)
    const required = (error: string) => expect.objectContaining({ error }) as Error
    await expect(getTokensFor(config, asked, agent)).rejects.toEqual(required('login_required'))
    await getTokensFor(await createApp(server), {}, agent)
    await expect(getTokensFor(config, asked, agent)).rejects.toEqual(required('consent_required'))
    const { sub } = (await getTokensFor(config, {}, agent)).claims()!
    expect((await getTokensFor(config, asked, agent)).claims()!.sub).toBe(sub)
  })
})

test('sign-out: the app sends its user to end_session, who comes back signed out', async () => {
  const home = 'https://app.example'
  const config = await createApp(server, { post_logout_redirect_uris: [home] })
  const agent = createUserAgent(server.url)
  const { id_token } = await getTokensFor(config, {}, agent)
  const parameters = { id_token_hint: id_token!, post_logout_redirect_uri: home, state: 'out' }
  const page = await agent.get(client.buildEndSessionUrl(config, parameters))
  expect([page.status, page.headers.get('location')]).toEqual([303, `${home}?state=out`])
  const again = getTokensFor(config, { prompt: 'none' }, agent)
  await expect(again).rejects.toMatchObject({ error: 'login_required' })
})
