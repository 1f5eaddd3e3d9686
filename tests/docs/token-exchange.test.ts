/**
 * docs/token-exchange.md, as it stands there: the policy on the command line and in SEED_FILE, and the exchange.
 * @needs latchkey-token-exchange
 */
import { execFile } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { DESK, EXCHANGE_SEED } from '../support/exchange.ts'
import { startServer } from '../support/server.ts'
import { getTokens, SEED } from '../support/sign-in.ts'
import { checkout, openPage, sitDown } from './page.ts'

test('a policy is registered, and a token exchanged by it', async () => {
  const page = await openPage('token-exchange.md')
  const [register, section, app] = [page.next('sh'), page.next('json'), page.next('js')]
  page.end()
  const server = await startServer({}, { seed: SEED })
  const desk = await sitDown(server.settings)
  await desk.sh(register)

  const modules = join(desk.directory, 'node_modules')
  await mkdir(modules, { recursive: true })
  await symlink(join(checkout, 'node_modules/openid-client'), join(modules, 'openid-client'))
  await writeFile(join(desk.directory, 'desk.mjs'), app)
  const { access_token: TOKEN } = await getTokens(server, { scope: 'openid read_books' })
  const env = { ISSUER: server.url, TOKEN, PATH: process.env['PATH'] }
  const { stdout } = await promisify(execFile)(process.execPath, ['desk.mjs'], { cwd: desk.directory, env })
  expect(decodeJwt(stdout.trim())).toMatchObject({
    sub: decodeJwt(TOKEN).sub,
    aud: 'https://shelf.example',
    act: { sub: 'desk' },
  })

  const { exchanges } = JSON.parse(section) as { exchanges: object[] }
  const { token_exchange: _rules, ...bare } = DESK
  const seeded = await startServer({}, { seed: { ...EXCHANGE_SEED, clients: [...SEED.clients, bare], exchanges } })
  const { client: _client, ...rule } = exchanges[0] as Record<string, unknown>
  expect(await seeded.server.oauth.clients.find('desk')).toMatchObject({ token_exchange: [rule] })
  const wrong = async (entry: object) => startServer({}, { seed: { clients: [bare], exchanges: [entry] } })
  await expect(wrong({ ...exchanges[0], client: 'gone' })).rejects.toThrow('exchanges[0]: client must be a client of this file')
  await expect(wrong({ client: 'desk', resources: ['urn:a'] })).rejects.toThrow('exchanges[0]: subject_clients')
}) // prettier-ignore
