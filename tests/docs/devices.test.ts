/**
 * docs/devices.md, as it stands there: the device is registered, asks, and gets its tokens once somebody allows it.
 * @needs latchkey-device-code
 */
import { spawn } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { allow, newPerson } from '../support/device.ts'
import { startServer } from '../support/server.ts'
import { SEED } from '../support/sign-in.ts'
import { checkout, openPage, sitDown } from './page.ts'

test('a television is let in', async () => {
  const page = await openPage('devices.md')
  const [register, app] = [page.next('sh'), page.next('js')]
  page.end()
  const server = await startServer({ TRUSTED_PROXIES: '127.0.0.1' }, { seed: SEED })
  const desk = await sitDown(server.settings)
  const { stdout } = await desk.sh(register)
  expect(JSON.parse(stdout)).toMatchObject({ client_id: 'tv', token_endpoint_auth_method: 'none' })

  const modules = join(desk.directory, 'node_modules')
  await mkdir(modules, { recursive: true })
  await symlink(join(checkout, 'node_modules/openid-client'), join(modules, 'openid-client'))
  await writeFile(join(desk.directory, 'tv.mjs'), app)
  const env = { ISSUER: server.url, PATH: process.env['PATH'] }
  const tv = spawn(process.execPath, ['tv.mjs'], { cwd: desk.directory, env })
  let shown = ''
  const said = new Promise<string>((resolve) => {
    tv.stdout.on('data', (chunk: Buffer) => {
      shown += chunk.toString()
      if (shown.includes('or open')) resolve(shown)
    })
  })
  const [trouble, ended] = [text(tv.stderr), new Promise((resolve) => tv.on('close', resolve))]
  const user_code = /enter (\S+)/.exec(await said)![1]!
  await allow(server, { user_code }, newPerson(server))
  expect({ status: await ended, trouble: await trouble }).toEqual({ status: 0, trouble: '' })
  expect(shown).toMatch(/^Signed in as \S+, for openid read_books$/m)
})
