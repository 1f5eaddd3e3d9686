/** docs/sign-out.md, as it stands there: the commands, and an app that is told in a process of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Script } from 'node:vm'
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { atEndOfFile, temporaryDirectory } from '../support/cleanup.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { getTokens, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { checkout, openPage, sitDown, substitute } from './page.ts'

test('the shop is told of a sign-out', async () => {
  const page = await openPage('sign-out.md')
  const [register, setting, own] = [page.next('sh'), page.next('ini'), page.next('sh')]
  const [shop, shown, list] = [page.next('js'), page.next('json'), page.next('sh')]
  const [frame, loaded] = [page.next('sh'), page.next('http')]
  const [opted, asks] = [page.next('ini'), page.next('js')]
  page.end()

  const origin = `http://127.0.0.1:${await freePort()}`
  const [name, allowed] = setting.trim().split('=') as [string, string]
  expect(URL.parse(allowed)?.origin).toBe(allowed)
  expect(own).toMatch(new RegExp(`^${name}=http://localhost:8080 npm start\n$`))
  const [option, on] = opted.trim().split('=') as [string, string]
  const server = await startServer({ [name]: origin, [option]: on }, { seed: SEED })
  const desk = await sitDown(server.settings)
  await desk.sh(substitute(register, { 'https://shop.example': origin, ' shop ': ` ${WEB.client_id} ` }))

  const folder = await temporaryDirectory()
  await symlink(join(checkout, 'node_modules'), join(folder, 'node_modules'))
  const port = `host: '127.0.0.1', port: ${new URL(origin).port}`
  const here = { 'https://login.example.com': server.url, "'shop'": "'web'", 'port: 8080': port }
  await writeFile(join(folder, 'shop.mjs'), substitute(shop, here))
  const child = spawn(process.execPath, ['shop.mjs'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  atEndOfFile(async () => void child.kill())
  const lines: string[] = []
  const output = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  await once(output, 'line')

  const agent = createUserAgent(server.url)
  const { id_token } = await getTokens(server, {}, agent)
  const { sub, sid } = decodeJwt(id_token)
  await agent.get(`${server.url}/end-session?id_token_hint=${id_token}`)
  await expect.poll(() => lines.at(-1)).toBe(`session ${sid as string} of user ${sub} has ended`)
  expect(Object.keys(JSON.parse(shown) as object)).toEqual([
    'iss', 'aud', 'sub', 'sid', 'iat', 'exp', 'jti', 'events',
  ]) // prettier-ignore
  expect(JSON.parse((await desk.sh(list)).stdout)).toEqual([])

  const home = new URL(WEB.redirect_uri).origin
  await desk.sh(substitute(frame, { 'https://shop.example': home, ' shop ': ` ${WEB.client_id} ` }))
  await expect
    .poll(async () => (await server.server.oauth.findClient('web'))?.metadata)
    .toHaveProperty('frontchannel_logout_uri')
  const again = await getTokens(server, {}, agent)
  const signedOut = await agent.get(`${server.url}/end-session?id_token_hint=${again.id_token}`)
  const [, framed] = /<iframe src="([^"]*)"/.exec(signedOut.body)!
  const [, example] = /^GET (\S+)/.exec(loaded)!
  const said = {
    'https%3A%2F%2Flogin.example.com': encodeURIComponent(server.url),
    'd1c0a2f4-5e07-4b6b-9a0c-6d2a8f6e7b10': String(decodeJwt(again.id_token)['sid']),
  }
  expect(framed!.replaceAll('&amp;', '&')).toBe(home + substitute(example!, said))

  const metadata = (await (await server.get('/.well-known/openid-configuration')).json()) as Record<
    string,
    string
  >
  expect(substitute(asks, { 'https://login.example.com': server.url })).toContain(
    `'${metadata['check_session_iframe']}'`,
  )
  expect(() => new Script(asks)).not.toThrow()
})
