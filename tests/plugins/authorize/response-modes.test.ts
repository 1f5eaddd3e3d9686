/** How answers travel to the client, each mode with codes and with errors. */
import * as oauth from 'oauth4webapi'
import { expect, test } from 'vitest'
import { exchangeAs } from '../../support/code-flow.ts'
import { startServer } from '../../support/server.ts'
import { toClient } from '../../support/service.ts'
import { authorizationUrl, BOB, createPkce, goThrough, SEED, WEB } from '../../support/sign-in.ts'
import { createUserAgent } from '../../support/user-agent.ts'

const SPA = {
  client_id: 'spa',
  token_endpoint_auth_method: 'none',
  redirect_uris: [WEB.redirect_uri, 'https://app.example/callback?tab=1'],
}
const server = await startServer({}, { seed: { ...SEED, clients: [WEB, SPA] } })
const issuer = new URL(server.url)
const as = await oauth.processDiscoveryResponse(
  issuer,
  await oauth.discoveryRequest(issuer, { [oauth.allowInsecureRequests]: true }),
)
const state = 'a state, & more + of it'
const { verifier, challenge } = createPkce()
const asked = {
  client_id: 'spa',
  response_mode: 'fragment',
  code_challenge: challenge,
  code_challenge_method: 'S256',
  nonce: 'n',
  state,
}

/** What is behind `#`, which a script of the app reads; what is before it stays as it was registered. */
function behindHash(location: string | null, before: string): URLSearchParams {
  const [address, fragment, ...more] = location!.split('#')
  expect([address, more]).toEqual([before, []])
  return new URLSearchParams(fragment)
}

test.each(SPA.redirect_uris)(
  'fragment, as MSAL.js and keycloak-js ask: the code, and what was not allowed, at %s',
  async (redirect_uri) => {
    const agent = createUserAgent(server.url)
    const silent = await agent.get(authorizationUrl(server, { ...asked, redirect_uri, prompt: 'none' }))
    const refused = behindHash(silent.headers.get('location'), redirect_uri)
    expect(Object.fromEntries(refused)).toMatchObject({ error: 'login_required', state, iss: server.url })

    const page = await goThrough(agent, await agent.get(authorizationUrl(server, { ...asked, redirect_uri })))
    const answer = behindHash(page.headers.get('location'), redirect_uri)
    expect([...answer.keys()].toSorted()).toEqual(['code', 'iss', 'state'])
    expect(page.headers.get('location')).not.toContain('+')
    expect(page.headers.get('cache-control')).toBe('no-store')
    const parameters = oauth.validateAuthResponse(as, { client_id: 'spa' }, answer, state)
    const spa = toClient({ client_id: 'spa', client_secret: '' })
    const form = { client_id: 'spa', redirect_uri, code_verifier: verifier }
    const exchanged = await exchangeAs(server, spa, parameters.get('code')!, form)
    expect(exchanged).toMatchObject({ status: 200, tokens: { id_token: expect.any(String) as string } })
  },
)

test('fragment: a person who denies, and a request that is refused, are told in it too', async () => {
  const agent = createUserAgent(server.url)
  const login = await agent.get(authorizationUrl(server, asked))
  const consent = await agent.submit(login, 'login', { username: BOB.username, password: BOB.password })
  const denied = await agent.submit(consent, 'consent', { decision: 'deny' })
  expect(behindHash(denied.headers.get('location'), WEB.redirect_uri).get('error')).toBe('access_denied')
  const refused = await agent.get(authorizationUrl(server, { ...asked, code_challenge_method: 'plain' }))
  expect(behindHash(refused.headers.get('location'), WEB.redirect_uri).get('error')).toBe('invalid_request')
})

test('it is in the metadata', () => {
  expect(as.response_modes_supported).toEqual(expect.arrayContaining(['query', 'fragment', 'form_post']))
})
