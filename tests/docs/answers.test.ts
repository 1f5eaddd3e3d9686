/** docs/answers.md, as it stands there. */
import { decodeProtectedHeader } from 'jose'
import { expect, test } from 'vitest'
import { basic, bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { authorize, SEED } from '../support/sign-in.ts'
import { openPage, sitDown } from './page.ts'

test('an app is registered for its algorithm, and gets its ID tokens and userinfo so', async () => {
  const page = await openPage('answers.md')
  const command = page.next('sh')
  page.end()

  const server = await startServer({}, { seed: SEED })
  const desk = await sitDown(server.settings)
  const { stdout } = await desk.sh(command)
  const { client_id, client_secret } = JSON.parse(stdout) as { client_id: string; client_secret: string }
  await expect.poll(async () => server.server.oauth.findClient(client_id)).not.toBeNull()

  const redirect_uri = 'https://bank.example/callback'
  const code = (await authorize(server, { client_id, redirect_uri })).get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri }
  const response = await server.post('/token', form, basic(client_id, client_secret))
  const { id_token: idToken, access_token: token } = (await response.json()) as Record<string, string>
  const userinfo = await server.get('/userinfo', bearer(token!))
  expect(userinfo.headers.get('content-type')).toBe('application/jwt')
  const algorithms = [idToken!, await userinfo.text()].map((jwt) => decodeProtectedHeader(jwt).alg)
  expect(algorithms).toEqual(['ES384', 'ES384'])
})
