/** The log of a process whose reader is slow, stands still, or is gone. */
import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openLogDestination } from '../../src/services/log-destination.ts'
import { temporaryDirectory } from '../support/cleanup.ts'

const LINE = `${JSON.stringify({ level: 'info', msg: 'x'.repeat(200) })}\n`

async function pipe(): Promise<{ reader: number; writer: number }> {
  const path = join(await temporaryDirectory(), 'pipe')
  execFileSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return { reader, writer: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK) }
}

/** What is there now. */
function read(fd: number): string {
  const buffer = Buffer.alloc(1 << 16)
  let text = ''
  try {
    for (let size; (size = readSync(fd, buffer)) > 0;) text += buffer.toString('utf8', 0, size)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
  }
  return text
}

test('a reader that stands still costs two megabytes at most; lines that had no room are counted in one', async () => {
  const { reader, writer } = await pipe()
  const log = openLogDestination(writer)
  const written = 100_000
  for (let count = 0; count < written; count++) {
    log.write(LINE)
    if (count % 1000 === 0) await sleep(0)
  }

  let text = ''
  await expect.poll(() => (text += read(reader))).toContain('"dropped":')
  expect(text.length).toBeLessThan(2e6)
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { dropped?: number })
  const said = lines.filter(({ dropped }) => dropped !== undefined)
  expect(said).toHaveLength(1)
  expect(lines.length - 1 + said[0]!.dropped!).toBe(written)
  expect(said[0]).toMatchObject({ level: 'warn', msg: expect.stringContaining('dropped') as unknown })

  log.write(LINE)
  await expect.poll(() => read(reader)).toBe(LINE)
})

test('at the end, what is left is written, or given up after a second', async () => {
  const { reader, writer } = await pipe()
  const log = openLogDestination(writer)
  for (let count = 0; count < 1000; count++) log.write(LINE)
  await sleep(50)
  const begun = performance.now()
  log.flush()
  expect(performance.now() - begun).toBeLessThan(5000)
  expect(read(reader)).toContain(LINE)
})

test('a reader that is gone is no error', async () => {
  const { reader, writer } = await pipe()
  const log = openLogDestination(writer)
  closeSync(reader)
  for (let count = 0; count < 100; count++) {
    log.write(LINE)
    await sleep(1)
  }
  log.flush()
  closeSync(writer)
})
