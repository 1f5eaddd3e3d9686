/** The secrets that a development start keeps: made whole, and never taken where they are not. */
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { developmentSecretKey, keptSecret } from '../../../src/services/database/data-dir.ts'
import { startEmbeddedPostgres } from '../../../src/services/database/embedded-postgres.ts'
import { atEndOfFile, temporaryDirectory } from '../../support/cleanup.ts'
import { createDatabase } from '../../support/database.ts'
import { runCommand } from '../../support/process.ts'

const generate = (): string => Math.random().toString().padEnd(20, '0')

test('it is made once, for all who start together, and for its user alone', async () => {
  const dataDir = join(await temporaryDirectory(), 'new')
  const keys = await Promise.all(Array.from({ length: 8 }, async () => developmentSecretKey(dataDir)))
  expect(new Set(keys).size).toBe(1)
  expect(keys[0]).toMatch(/^[\w-]{43}$/)
  expect(await readdir(dataDir)).toEqual(['secret-key'])
  expect((await stat(join(dataDir, 'secret-key'))).mode & 0o777).toBe(0o600)
})

test.each(['', '\n', 'cut-off'])(
  'a secret-key that is cut off (%j) is refused, and stays as it is',
  async (content) => {
    const DATA_DIR = await temporaryDirectory()
    await writeFile(join(DATA_DIR, 'secret-key'), content)
    const sentence =
      /secret-key has \d characters and is cut off: restore it from a copy, or move .* away to start afresh\./
    await expect(developmentSecretKey(DATA_DIR)).rejects.toThrow(sentence)
    expect(await readFile(join(DATA_DIR, 'secret-key'), 'utf8')).toBe(content)
  },
)

test('start and doctor say so, and the start ends', async () => {
  const DATA_DIR = await temporaryDirectory()
  await writeFile(join(DATA_DIR, 'secret-key'), '')
  const { url } = await createDatabase()
  const settings = { DATABASE_URL: url, DATA_DIR, PORT: 0 }
  for (const command of ['serve', 'doctor']) {
    const { status, stdout, stderr } = await runCommand([command], settings)
    expect(status).toBe(1)
    expect(stdout + stderr).toContain('secret-key has 0 characters and is cut off')
  }
})

test('another secret that is cut off is made anew', async () => {
  const dataDir = await temporaryDirectory()
  await writeFile(join(dataDir, 'demo-user'), 'cut')
  const made = await keptSecret(dataDir, 'demo-user', generate)
  expect(made).toHaveLength(20)
  expect(await keptSecret(dataDir, 'demo-user', generate)).toBe(made)
})

test('a place of the database that holds other files is left alone, and named in a sentence', async () => {
  const dataDir = await temporaryDirectory()
  await mkdir(join(dataDir, 'postgres'), { mode: 0o755 })
  await writeFile(join(dataDir, 'postgres', 'mine.txt'), 'mine')
  const start = startEmbeddedPostgres({ dataDir })
  start.then(({ stop }) => atEndOfFile(stop)).catch(() => {})
  await expect(start).rejects.toThrow(
    /postgres holds files and no database \(no PG_VERSION\): restore it from a backup/,
  )
  expect(await readFile(join(dataDir, 'postgres', 'mine.txt'), 'utf8')).toBe('mine')
})
