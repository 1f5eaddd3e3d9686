/**
 * docs/second-factor.md, as it stands there.
 * @needs latchkey-second-factor
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import Fastify from 'fastify'
import { expect, test } from 'vitest'
import requireScope from '../../plugins/require-scope/index.ts'
import { asksForFactor, setUpFactor } from '../support/authenticator.ts'
import { atEndOfFile, temporaryDirectory } from '../support/cleanup.ts'
import { bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { ALICE, getTokens, SEED } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { signedIn } from '../plugins/account/owner.ts'
import { openPage, sitDown, substitute } from './page.ts'

const page = await openPage('second-factor.md')
const [setting, forClient, reset, route] = [
  page.next('ini'),
  page.next('sh'),
  page.next('sh'),
  page.next('ts'),
]
const ROOT = { username: 'root', password: 'a password of an administrator', roles: ['admin'] }
const [name, value] = setting.trim().split('=') as [string, string]
const server = await startServer({ [name]: value }, { seed: { ...SEED, users: [ALICE, ROOT] } })
const { oauth } = server.server

test('the page has no other pieces', () => page.end())

test('the setting asks administrators, and the command the people of a client', async () => {
  const agent = createUserAgent(server.url)
  const { username, password } = ROOT
  const asked = await agent.submit(await agent.get(`${server.url}/account`), 'login', { username, password })
  expect(asked.body).toContain('Set up a second factor')
  const desk = await sitDown(server.settings)
  await desk.sh(substitute(forClient, { CLIENT_ID: 'web' }))
  expect((await oauth.clients.find('web'))!['minimum_acr_value']).toBe('2')
  await oauth.clients.update('web', { minimum_acr_value: null })
})

test('the command takes the factor from who has lost it', async () => {
  await setUpFactor(await signedIn(server), server.url)
  const desk = await sitDown(server.settings)
  expect((await desk.sh(reset)).stdout).toBe('alice has no second factor any more.\n')
  const { id } = (await oauth.users.find(ALICE.username))!
  await expect.poll(async () => oauth.users.hasFactors(id)).toBe(false)
  expect(asksForFactor(await (await signedIn(server)).get(`${server.url}/account`))).toBe(false)
})

test('the route answers a token that is not enough with what to ask for', async () => {
  const app = Fastify()
  atEndOfFile(async () => app.close())
  await app.register(requireScope, { issuer: server.url })
  const file = join(await temporaryDirectory(), 'route.ts')
  const statement = substitute(route, { "'pay'": "'read_books'" })
  await writeFile(file, `export default function addRoute(app: any): void {\n${statement}}\n`)
  const { default: addRoute } = (await import(pathToFileURL(file).href)) as { default: (to: object) => void }
  addRoute(app)
  await oauth.clients.update('web', { require_consent: false })
  const { access_token } = await getTokens(server, { scope: 'openid read_books' })
  const answer = await app.inject({ method: 'POST', url: '/payments', headers: bearer(access_token) })
  expect(answer.statusCode).toBe(401)
  expect(answer.headers['www-authenticate']).toMatch(
    /insufficient_user_authentication.*acr_values="2", max_age="300"/,
  )
})
