/** docs/answers.md, as it stands there. */
import { compactDecrypt, decodeProtectedHeader, exportJWK, generateKeyPair } from 'jose'
import { expect, test } from 'vitest'
import { startReceiver } from '../support/receiver.ts'
import { basic, bearer } from '../support/requests.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { authorize, SEED, type Tokens } from '../support/sign-in.ts'
import { openPage, sitDown, substitute } from './page.ts'

const page = await openPage('answers.md')
const [algorithm, encryption] = [page.next('sh'), page.next('sh')]
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

/** What it gets of somebody who signs in. */
async function signIn(server: TestServer, client_id: string, client_secret: string) {
  const redirect_uri = 'https://bank.example/callback'
  const code = (await authorize(server, { client_id, redirect_uri })).get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri }
  const response = await server.post('/token', form, basic(client_id, client_secret))
  const { id_token, access_token: token } = (await response.json()) as Tokens
  return { id_token, userinfo: await server.get('/userinfo', bearer(token)) }
}
