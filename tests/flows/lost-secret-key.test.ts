/** `DATA_DIR/secret-key` where nobody has set SECRET_KEY: what a start and `doctor` say that find it gone, or another. */
import { randomBytes } from 'node:crypto'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import { freePort, type Settings } from '../support/settings.ts'

/** What a first start leaves behind. */
async function startOnce(database?: TestDatabase): Promise<Settings & { DATA_DIR: string }> {
  const DATA_DIR = await temporaryDirectory()
  const place = { DATABASE_URL: database?.url, SECRET_KEY: undefined, DATA_DIR, PORT: await freePort() }
  const server = await spawnServer(place, database === undefined ? {} : { database })
  expect(await server.stop()).toBe(0)
  return { ...server.settings, ...place }
}

async function refusalOf(settings: Settings): Promise<string> {
  const { status, stderr } = await runCommand(['serve'], settings)
  expect(status).toBe(1)
  expect(stderr).toMatch(/^[^\n]+\.\n$/)
  return stderr.trimEnd()
}

test.each([
  ['the embedded database', undefined, /restore it, or move DATA_DIR \(\S+\) away to begin anew\.$/],
  ['DATABASE_URL', createDatabase, /restore it, put the key into SECRET_KEY, or .* DATABASE_URL\.$/],
])(
  'on %s, a start names the file, and makes none in its place; doctor says the same',
  async (_, create, remedy) => {
    const settings = await startOnce(await create?.())
    const { DATA_DIR } = settings
    const file = join(DATA_DIR, 'secret-key')

    await rm(file)
    const lost = await refusalOf(settings)
    expect(lost.startsWith(`${file} is missing, `)).toBe(true)
    expect(lost).toMatch(remedy)
    const examined = await runCommand(['doctor'], settings)
    expect(examined.stdout.split('\n')).toContain(`fail  SECRET_KEY: ${lost}`)
    expect(examined.status).toBe(1)
    expect(await readdir(DATA_DIR)).not.toContain('secret-key')

    await writeFile(file, randomBytes(32).toString('base64url'))
    const replaced = await refusalOf(settings)
    expect(replaced).toMatch(/secret-key is not the one that the signing key \S+ was made with: /)
    expect(replaced).toMatch(remedy)
  },
)
