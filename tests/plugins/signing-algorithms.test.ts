/** What a client may want its ID tokens and userinfo responses signed with. */
import { expect, test } from 'vitest'
import { runCommandHere } from '../support/command-here.ts'
import { startServer } from '../support/server.ts'

const running = await startServer({}, { makesKeys: true })
const { clients, keys } = running.server.oauth
const algorithms = async () => {
  const { keys: published } = (await (await running.get('/jwks')).json()) as { keys: { alg: string }[] }
  return published.map(({ alg }) => alg)
}

test.each(['id_token_signed_response_alg', 'userinfo_signed_response_alg'])('%s', async (member) => {
  const wanted = { redirect_uris: ['https://app.example/cb'] }
  for (const algorithm of ['none', 'HS256', 'RS512', 'rs256', 'constructor'])
    await expect(clients.create({ ...wanted, [member]: algorithm })).rejects.toThrow(
      `${member} must be one of RS256, ES256, PS256, EdDSA`,
    )
  for (const algorithm of keys.algorithms)
    expect(await clients.create({ ...wanted, [member]: algorithm })).toMatchObject({ [member]: algorithm })
})

test('a key is published for what a client registered, once, before anything is signed with it', async () => {
  await clients.create({ redirect_uris: ['https://app.example/cb'], id_token_signed_response_alg: 'PS256' })
  await expect.poll(async () => (await algorithms()).includes('PS256')).toBe(true)
  expect((await algorithms()).filter((alg) => alg === 'PS256')).toHaveLength(1)
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
