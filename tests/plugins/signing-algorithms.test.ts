/** What a client may want its ID tokens and userinfo responses signed with. */
import { decodeProtectedHeader } from 'jose'
import * as client from 'openid-client'
import { describe, expect, test } from 'vitest'
import { tokenHash } from '../../src/protocol/token-hash.ts'
import { runCommandHere } from '../support/command-here.ts'
import { startServer } from '../support/server.ts'
import { ALICE, goThrough, REDIRECT_URI, SEED } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const running = await startServer({ OIDC_IMPLICIT: 'true' }, { makesKeys: true, seed: SEED })
const { clients, keys } = running.server.oauth
const published = async () =>
  ((await (await running.get('/jwks')).json()) as { keys: { alg: string; kid: string }[] }).keys

test.each(['id_token_signed_response_alg', 'userinfo_signed_response_alg'])('%s', async (member) => {
  const wanted = { redirect_uris: ['https://app.example/cb'] }
  for (const algorithm of ['none', 'HS256', 'RS512', 'rs256', 'constructor'])
    await expect(clients.create({ ...wanted, [member]: algorithm })).rejects.toThrow(
      `${member} must be one of ${keys.algorithms.join(', ')}`,
    )
  for (const algorithm of keys.algorithms)
    expect(await clients.create({ ...wanted, [member]: algorithm })).toMatchObject({ [member]: algorithm })
})

test('they are those that clients can check, and where Node has it one that quantum computers do not break', () => {
  const classic = ['RS256', 'ES256', 'PS256', 'EdDSA', 'ES384', 'ES512']
  expect(keys.algorithms).toEqual([...classic, 'ML-DSA-44', 'ML-DSA-65'])
})

describe.each(keys.algorithms)('%s', (algorithm) => {
  const issuer = new URL(running.url)
  const metadata = { id_token_signed_response_alg: algorithm, userinfo_signed_response_alg: algorithm }

  /** Signs in as the client; returns what `openid-client` believes, and at last userinfo. */
  async function signIn() {
    const registered = await clients.create({
      ...metadata,
      redirect_uris: [REDIRECT_URI],
      response_types: ['code id_token'],
    })
    const execute = [client.allowInsecureRequests, client.useCodeIdTokenResponseType, client.enableDetachedSignatureResponseChecks, client.enableNonRepudiationChecks] // prettier-ignore
    const secret = client.ClientSecretBasic(registered.client_secret)
    const config = await client.discovery(issuer, registered.client_id!, metadata, secret, { execute })
    const parameters = { redirect_uri: REDIRECT_URI, scope: 'openid email', state: 's', nonce: 'n' }
    const agent = createUserAgent(running.url)
    const page = await goThrough(
      agent,
      await agent.get(client.buildAuthorizationUrl(config, parameters).href),
    )
    const callback = new URL(page.headers.get('location')!)
    const checks = { expectedState: 's', expectedNonce: 'n' }
    const tokens = await client.authorizationCodeGrant(config, callback, checks)
    const { sub } = tokens.claims()!
    return {
      config,
      agent,
      tokens,
      sub,
      userinfo: await client.fetchUserInfo(config, tokens.access_token, sub),
    }
  }

  test('openid-client believes ID tokens and userinfo that are signed with it, and the hash of the code in one', async () => {
    const { tokens, sub, userinfo } = await signIn()
    expect(decodeProtectedHeader(tokens.id_token!).alg).toBe(algorithm)
    expect(userinfo).toMatchObject({ sub, email: ALICE.email })
    expect(tokens.claims()!['at_hash']).toBe(tokenHash(tokens.access_token, algorithm))
  })

  test('its keys rotate, and what the one before signed is a hint still', async () => {
    const { config, agent, tokens } = await signIn()
    const { kid } = await keys.rotate(algorithm, 0)
    expect((await published()).filter(({ alg }) => alg === algorithm).map((key) => key.kid)).toContain(kid)
    const hinted = {
      redirect_uri: REDIRECT_URI,
      scope: 'openid email',
      state: 's',
      nonce: 'n',
      prompt: 'none',
      id_token_hint: tokens.id_token!,
    }
    const page = await agent.get(client.buildAuthorizationUrl(config, hinted).href)
    const answer = new URLSearchParams(new URL(page.headers.get('location')!).hash.slice(1))
    expect(decodeProtectedHeader(answer.get('id_token')!)).toMatchObject({ alg: algorithm, kid })
  })

  test('of its keys nothing private is published', async () => {
    for (const key of (await published()).filter(({ alg }) => alg === algorithm))
      for (const member of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k', 'priv'])
        expect(key).not.toHaveProperty(member)
  })
})

test('a key is published for what a client registered, once, before anything is signed with it', async () => {
  const { oauth } = (await startServer()).server
  const wanted = { redirect_uris: ['https://app.example/cb'], id_token_signed_response_alg: 'PS256' }
  await Promise.all([oauth.clients.create(wanted), oauth.clients.create(wanted)])
  const made = () => oauth.keys.keys().filter(({ algorithm }) => algorithm === 'PS256')
  await expect.poll(() => made().length).toBe(1)
  expect((JSON.parse(oauth.keys.jwks().toString()) as { keys: object[] }).keys).toContainEqual(
    expect.objectContaining({ alg: 'PS256', kid: made()[0]!.kid }),
  )
})

test('registered by command, the key is there when the command ends', async () => {
  const { settings, server, database } = await startServer()
  const args = ['--redirect-uris', 'https://app.example/cb', '--id-token-signed-response-alg', 'PS256']
  const { status, stderr } = await runCommandHere(['client', 'create', ...args], {
    ...settings,
    LOG_LEVEL: 'warn',
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(await database.query(`select from signing_keys where algorithm = 'PS256'`)).toHaveLength(1)
  await expect.poll(() => server.oauth.keys.keys().map(({ algorithm }) => algorithm)).toContain('PS256')
})
