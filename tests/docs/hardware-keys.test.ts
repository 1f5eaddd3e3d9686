/** docs/hardware-keys.md, as it stands there, with SoftHSM. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fileSetting } from '../../src/settings/setting-value.ts'
import { getAccessToken, isActive, SIGNED, toClient } from '../support/service.ts'
import { softHsmModule } from '../support/softhsm.ts'
import { spawnServer } from '../support/process.ts'
import { createDatabase } from '../support/database.ts'
import { openPage, sitDown, substitute } from './page.ts'

const page = await openPage('hardware-keys.md')
const [makeToken, settings, look, dropIn, moves] = [
  page.next('sh'),
  page.next('ini'),
  page.next('sh'),
  page.next('ini'),
  page.next('ini'),
]

test('the page has no other commands', () => page.end())

test('the PIN that systemd hands over is where the setting looks for it', () => {
  const [, name] = /^LoadCredential=(.+):/m.exec(dropIn)!
  expect(dropIn).toContain(`Environment=${fileSetting('PKCS11_PIN')}=%d/${name}\n`)
})

test.skipIf(softHsmModule === undefined)('a server with the settings of the page signs in the token, and comes to it from the database by those below', async () => {
  const desk = await sitDown({})
  const here = { '/usr/lib/softhsm/libsofthsm2.so': softHsmModule! }
  await desk.sh(makeToken)
  const SOFTHSM2_CONF = join(desk.directory, 'softhsm2.conf')
  const valueOf = (line: string): string =>
    substitute(line, { ...here, '/path/to/pin': join(desk.directory, 'pin') }).trim().replace(/^KEYS="(.*)"$/, '$1')
  const [both, token] = moves.trim().split('\n').map(valueOf) as [string, string]
  expect(valueOf(settings)).toBe(token)

  const database = await createDatabase()
  const client = toClient(SIGNED)
  const common = { SOFTHSM2_CONF, OIDC_KEY_PUBLISH: 3, OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false }
  const first = await spawnServer({ ...common, KEYS: both }, { database, seed: { clients: [SIGNED] } })
  const before = await getAccessToken(first, client)
  await first.stop()
  const second = await spawnServer({ ...first.settings, KEYS: token }, { database })
  const list = async (): Promise<string> =>
    (await desk.sh(substitute(look, here), { ...second.settings, SOFTHSM2_CONF, DATABASE_URL: database.url })).stdout
  await expect.poll(list, { interval: 2_000 }).toMatch(/ES256 +current .* in pkcs11:token=example/)
  expect(await list()).toMatch(/sensitive, always sensitive, never extractable/)
  expect(await isActive(second, client, before)).toBe(true)
  expect(await isActive(second, client, await getAccessToken(second, client))).toBe(true)
  const { stdout } = await desk.sh('npx latchkey doctor || true', second.settings)
  expect(stdout).toContain('pkcs11:token=example answers, has 2 keys of ours, and makes RS256, ES256')
  const pin = (await readFile(join(desk.directory, 'pin'), 'utf8')).trim()
  expect(second.output() + stdout).not.toContain(pin)
}) // prettier-ignore
