/** What `npm ci` compiles, for the first start. */
import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { spawnServer } from '../support/process.ts'
import { expectCompiled } from './compiled.ts'

const run = promisify(execFile)
const checkout = resolve(import.meta.dirname, '../..')

test('a first start finds all of its TypeScript compiled', async () => {
  const NODE_COMPILE_CACHE = join(await temporaryDirectory(), 'compiled')
  const env = { PATH: process.env['PATH'], NODE_COMPILE_CACHE }
  await run(process.execPath, ['.ci/compile.ts'], { cwd: checkout, env })

  const server = await spawnServer(
    { NODE_COMPILE_CACHE, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' },
    { fromSources: true },
  )
  expectCompiled(server.output())
})
