/** docs/answers.md, as it stands there. */
import { compactDecrypt, decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair } from 'jose'
import { expect, test } from 'vitest'
import { startReceiver } from '../support/receiver.ts'
import { basic, bearer } from '../support/requests.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { authorize, getTokens, goThrough, SEED, WEB, type Tokens } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { openPage, sitDown, substitute } from './page.ts'

const page = await openPage('answers.md')
const [algorithm, encryption] = [page.next('sh'), page.next('sh')]
const [asking, jarm] = [page.next('http'), page.next('sh')]
const [introspecting, said, introspection] = [page.next('http'), page.next('json'), page.next('sh')]
const signing = page.next('ini')
page.end()

test('an app is registered for its algorithm, and gets its ID tokens and userinfo so', async () => {
  const server = await startServer({}, { seed: SEED })
  const desk = await sitDown(server.settings)
  const { stdout } = await desk.sh(algorithm)
  const { client_id, client_secret } = JSON.parse(stdout) as { client_id: string; client_secret: string }
  await expect.poll(async () => server.server.oauth.findClient(client_id)).not.toBeNull()

  const { id_token: idToken, userinfo } = await signIn(server, client_id, client_secret)
  expect(userinfo.headers.get('content-type')).toBe('application/jwt')
  const algorithms = [idToken, await userinfo.text()].map((jwt) => decodeProtectedHeader(jwt).alg)
  expect(algorithms).toEqual(['ES384', 'ES384'])
})

test('an app is registered for encryption, with its keys at an address', async () => {
  const { publicKey, privateKey } = await generateKeyPair('ECDH-ES')
  const keys = [{ ...(await exportJWK(publicKey)), use: 'enc' }]
  const host = await startReceiver((_request, response) => response.end(JSON.stringify({ keys })))
  const origin = `http://127.0.0.1:${host.port}`
  const server = await startServer({ UNSAFE_OUTBOUND_ORIGINS: origin }, { seed: SEED })
  const command = substitute(encryption, { 'https://bank.example/jwks': `${origin}/jwks` })
  const { stdout } = await (await sitDown(server.settings)).sh(command)
  const { client_id, client_secret } = JSON.parse(stdout) as { client_id: string; client_secret: string }
  await expect.poll(async () => server.server.oauth.findClient(client_id)).not.toBeNull()

  const { id_token: idToken, userinfo } = await signIn(server, client_id, client_secret)
  for (const jwe of [idToken, await userinfo.text()]) {
    const { protectedHeader } = await compactDecrypt(jwe, privateKey)
    expect(protectedHeader).toMatchObject({ alg: 'ECDH-ES', enc: 'A256GCM' })
  }
})

test('an app asks for its answer as a JWT, and has it encrypted', async () => {
  const { publicKey, privateKey } = await generateKeyPair('ECDH-ES')
  const bank = {
    client_id: 'bank',
    redirect_uris: ['https://bank.example/callback'],
    jwks: { keys: [{ ...(await exportJWK(publicKey)), use: 'enc' }] },
  }
  const server = await startServer({}, { seed: { ...SEED, clients: [bank] } })
  const [, path] = /^GET (\S+) HTTP/.exec(asking)!
  const agent = createUserAgent(server.url)
  const answered = async () => {
    const page = await goThrough(agent, await agent.get(server.url + path!))
    return new URL(page.headers.get('location')!).searchParams.get('response')!
  }
  const members = { iss: server.url, aud: 'bank', state: 'af0ifjsldkj', code: expect.any(String) as string }
  expect(decodeJwt(await answered())).toMatchObject(members)

  await (await sitDown(server.settings)).sh(jarm)
  await expect.poll(async () => (await answered()).split('.').length).toBe(5)
  const { plaintext } = await compactDecrypt(await answered(), privateKey)
  const jwt = Buffer.from(plaintext).toString()
  expect([decodeProtectedHeader(jwt).alg, decodeJwt(jwt)]).toEqual([
    'PS256',
    expect.objectContaining(members),
  ])
})

test('an API asks for its introspection as a JWT, and by which algorithm', async () => {
  const secret = '7d9a4e0c1b2f48c6a5e3'
  const api = { client_id: 'api', client_secret: secret, scope: ['token_introspection', 'web'] }
  const server = await startServer({}, { seed: { ...SEED, clients: [WEB, api] } })
  const { access_token: token } = await getTokens(server)
  const [, credentials] = /^Authorization: Basic (\S+)$/m.exec(introspecting)!
  const [, accept] = /^Accept: (\S+)$/m.exec(introspecting)!
  const [method, path] = introspecting.split(' ')
  const ask = async () =>
    (
      await server.request(path!, {
        method: method!,
        headers: {
          authorization: `Basic ${credentials}`,
          accept: accept!,
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: introspecting.trim().split('\n').at(-1)!.replace('ACCESS_TOKEN', token),
      })
    ).text()
  const jwt = await ask()
  const expected = JSON.parse(said) as { token_introspection: object }
  expect(decodeJwt(jwt)).toMatchObject({
    ...expected,
    iss: server.url,
    iat: expect.any(Number) as number,
    token_introspection: { ...expected.token_introspection, scope: expect.any(String) as string },
  })
  expect(decodeProtectedHeader(jwt).alg).toBe('RS256')
  await (await sitDown(server.settings)).sh(introspection)
  await expect.poll(async () => decodeProtectedHeader(await ask()).alg).toBe('ES256')
})

test('the metadata is signed', async () => {
  const server = await startServer(Object.fromEntries([signing.trim().split('=')]))
  const response = await server.get('/.well-known/openid-configuration')
  const { signed_metadata: jwt, token_endpoint } = (await response.json()) as Record<string, string>
  expect(decodeJwt(jwt!)).toMatchObject({ iss: server.url, token_endpoint })
})

/** What it gets of somebody who signs in. */
async function signIn(server: TestServer, client_id: string, client_secret: string) {
  const redirect_uri = 'https://bank.example/callback'
  const code = (await authorize(server, { client_id, redirect_uri })).get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri }
  const response = await server.post('/token', form, basic(client_id, client_secret))
  const { id_token, access_token: token } = (await response.json()) as Tokens
  return { id_token, userinfo: await server.get('/userinfo', bearer(token)) }
}
