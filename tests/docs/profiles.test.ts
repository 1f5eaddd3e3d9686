/** docs/profiles.md, as it stands there: the key, the command, the app to the end, what is refused, and the setting. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { startServer } from '../support/server.ts'
import { ALICE, goThrough } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { checkout, openPage, sitDown } from './page.ts'

test('an app makes a key, is registered, and signs its user in under FAPI 2.0', async () => {
  const page = await openPage('profiles.md')
  const [keys, create, app] = [page.next('js'), page.next('sh'), page.next('js')]
  const [refused, setting] = [page.next('json'), page.next('ini')]
  page.end()

  const server = await startServer({}, { seed: { users: [ALICE] } })
  const folder = await temporaryDirectory()
  await symlink(join(checkout, 'node_modules'), join(folder, 'node_modules'))
  for (const [name, text] of Object.entries({
    'keys.mjs': keys,
    'bank.mjs': app,
  }))
    await writeFile(join(folder, name), text)
  const options = { cwd: folder, env: { ISSUER: server.url, PATH: process.env['PATH'] } }
  await promisify(execFile)(process.execPath, ['keys.mjs'], options)
  const desk = await sitDown(server.settings)
  await cp(join(folder, 'jwks.json'), join(desk.directory, 'jwks.json'))
  await desk.sh(create)

  const bank = spawn(process.execPath, ['bank.mjs'], { ...options, stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(bank, 'close')
  const printed: string[] = []
  const lines = createInterface(bank.stdout)
  const [address] = (await once(lines, 'line')) as [string]
  lines.on('line', (line) => printed.push(line))
  const agent = createUserAgent(server.url)
  const back = await goThrough(agent, await agent.get(address))
  bank.stdin.end(`${back.headers.get('location')}\n`)
  await ended
  expect(printed.join('')).toMatch(/sub: '/)

  const { error, error_description } = JSON.parse(refused) as Record<string, string>
  const contradicting = {
    client_id: 'other',
    redirect_uri: 'https://bank.example/callback',
    profile: 'fapi-2.0',
  }
  await expect(
    server.server.oauth.clients.create({
      ...contradicting,
      token_endpoint_auth_method: 'client_secret_basic',
    }),
  ).rejects.toMatchObject({ code: error, message: error_description })

  const [name = '', value = ''] = setting.trim().split('=')
  const whole = await startServer({ [name]: value })
  expect(whole.output()).toContain('OIDC_PROFILE fapi-2.0 locks of every client')
})
