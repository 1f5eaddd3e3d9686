/** `examples/device-grant` copied elsewhere: compiled against the packed package, and served by its command. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { allow, ask, DEVICE_GRANT, DEVICE_SEED, DEVICE_SETTINGS, poll } from '../support/device.ts'
import { compile, installStranger, pack } from '../support/packages.ts'
import { spawnServer } from '../support/process.ts'
import { freePort } from '../support/settings.ts'

const packed = await pack('latchkey')
const folder = await installStranger(DEVICE_GRANT, 'latchkey', packed, ['@types/node'])
const program = join(folder, 'node_modules/.bin/latchkey')

test('it compiles under strict settings, the declarations of libraries included', async () => {
  await compile(folder)
}, 180_000)

test('the installed command serves it, below an issuer with a path', async () => {
  const PORT = await freePort()
  const settings = {
    ...DEVICE_SETTINGS,
    PLUGINS: join(folder, 'index.ts'),
    PORT,
    OIDC_ISSUER: `http://127.0.0.1:${PORT}/auth`,
  }
  const server = await spawnServer(settings, { seed: DEVICE_SEED, program })
  const asked = await ask(server)
  expect(asked.verification_uri).toBe(`${server.url}/device`)
  expect((await allow(server, asked)).url).toBe(`${server.url}/device/allowed`)
  expect(await poll(server, asked)).toMatchObject({ status: 200, scope: 'openid read_books' })
  expect(await poll(server, asked)).toMatchObject({ status: 400, error: 'invalid_grant' })
}, 180_000)
