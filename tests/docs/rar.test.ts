/** docs/rar.md, as it stands there: its type, the app that asks for one, what people read, and what the token says. */
import { execFile } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { startServer } from '../support/server.ts'
import { ALICE, answerOf, exchange, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { checkout, openPage, sitDown, substitute } from './page.ts'

test('a payment is asked for, read, allowed once, and stands in the answer', async () => {
  const page = await openPage('rar.md')
  const [type, register, app, answer] = [page.next('js'), page.next('sh'), page.next('js'), page.next('json')]
  const [service, report] = [page.next('sh'), page.next('sh')]
  page.end()

  const PLUGINS = join(await temporaryDirectory(), 'payments.js')
  await writeFile(PLUGINS, type)
  const server = await startServer({ PLUGINS }, { seed: SEED })
  const desk = await sitDown(server.settings)
  await desk.sh(register)

  const modules = join(desk.directory, 'node_modules')
  await mkdir(modules, { recursive: true })
  await symlink(join(checkout, 'node_modules/openid-client'), join(modules, 'openid-client'))
  await writeFile(join(desk.directory, 'app.mjs'), app)
  const env = { ISSUER: server.url, CLIENT_SECRET: WEB.client_secret, PATH: process.env['PATH'] }
  const { stdout } = await promisify(execFile)(process.execPath, ['app.mjs'], { cwd: desk.directory, env })
  const agent = createUserAgent(server.url)
  const { username, password } = ALICE
  const consent = await agent.submit(await agent.get(stdout.trim()), 'login', { username, password })
  expect(consent.body.replaceAll(/<[^>]*>/g, '')).toContain('Pay 12.50 EUR to Book Shop')
  const allowed = await agent.submit(consent, 'consent', { decision: 'allow' })
  const response = await exchange(server, answerOf(allowed).get('code')!)
  expect(await response.json()).toMatchObject(JSON.parse(answer) as object)

  await desk.sh(service)
  const ask = substitute(report, { 'https://login.example.com': server.url })
  const told = async () => JSON.parse((await desk.sh(ask)).stdout) as Record<string, unknown>
  const locations = ['https://reports.example.com']
  const authorization_details = [{ type: 'report', month: '2026-11', locations }]
  // Another process has registered it.
  await expect.poll(told).toMatchObject({ authorization_details })
  const claims = decodeJwt(String((await told())['access_token']))
  expect(claims).toMatchObject({ sub: 'bookkeeper', aud: locations[0], authorization_details })
})
