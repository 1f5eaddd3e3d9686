/** Runs in front of every test file. */
import fc from 'fast-check'
import { afterAll } from 'vitest'
import { clearAway } from './cleanup.ts'

// Every run makes up the same inputs, so that a failure comes of a change and not of luck; `FUZZ_SEED` makes up others.
fc.configureGlobal({ seed: Number(process.env['FUZZ_SEED'] ?? 20_261_122) })

afterAll(clearAway)
