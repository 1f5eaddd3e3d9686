/** Runs in front of every test file. */
import fc from 'fast-check'
import { afterAll, vi } from 'vitest'
import { clearAway } from './cleanup.ts'

// Types are taken away where they stand, so that lines are the same without maps, and nobody has to look for them.
process.setSourceMapsEnabled(false)

// Every run makes up the same inputs, so that a failure comes of a change and not of luck; `FUZZ_SEED` makes up others.
fc.configureGlobal({ seed: Number(process.env['FUZZ_SEED'] ?? 20_261_122) })

afterAll(async () => {
  // A clock that stands still (`clocks.ts`) would stand in the files that come after it, too.
  vi.useRealTimers()
  await clearAway()
})
