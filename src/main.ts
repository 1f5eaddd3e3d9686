#!/usr/bin/env node
/**
 * The entry of the command line. It only makes the start quick: what is compiled once is kept in the checkout. `npm start`
 * says so to Node itself, which then needs no compiler for this file either, and 15 MiB less.
 */
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// An installed package keeps its folder as it was installed; a checkout is ours to write into.
if (import.meta.filename.endsWith('.ts')) {
  enableCompileCache(join(import.meta.dirname, '..', 'node_modules', '.cache', 'latchkey'))
}
const { run } = await import('./commands/program.ts')
await run(process.argv)
