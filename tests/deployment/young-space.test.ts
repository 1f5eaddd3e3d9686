/** What `npm start` says to V8 of young objects: counted collections, never times. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const run = promisify(execFile)
/** A process that is started, gets no CPU or nobody's request for a while, and then is in use. */
const PAUSED = `
  const { constants, PerformanceObserver } = require('node:perf_hooks')
  const { setTimeout: sleep } = require('node:timers/promises')
  let collections = 0
  new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries())
      if (detail.kind === constants.NODE_PERFORMANCE_GC_MINOR) collections++
  }).observe({ entryTypes: ['gc'] })
  const answer = async (megabytes) => {
    for (let done = 0; done < megabytes; done++) {
      for (let n = 0; n < 1024; n++) new Array(128).fill(n)
      if (done % 4 === 0) await sleep(1)
    }
  }
  globalThis.kept = Array.from({ length: 300_000 }, (_, n) => ({ n, text: 'kept ' + n }))
  answer(64)
    .then(() => sleep(9000))
    .then(() => { collections = 0 })
    .then(() => answer(64))
    .then(() => sleep(100))
    .then(() => console.log(collections))
`

async function flagsOfStart(): Promise<string[]> {
  const file = await readFile(join(root, 'package.json'), 'utf8')
  const { scripts } = JSON.parse(file) as { scripts: { start: string } }
  return scripts.start.split(' ').filter((word) => word.startsWith('--'))
}

test('after a pause, or a start on a busy machine, young objects have as much space as ever', async () => {
  const { stdout } = await run(process.execPath, [...(await flagsOfStart()), '-e', PAUSED])
  expect(Number(stdout)).toBeGreaterThan(0)
  // 64 MiB in 8 MiB at a time; in 2 at a time they are more than 30.
  expect(Number(stdout)).toBeLessThanOrEqual(12)
})
