/**
 * How the tests run: on Node's own type stripping, one process-wide PostgreSQL, one database per test file.
 */
import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { filesLeftOut } from './tests/support/left-out.ts'
import { LongestFirst } from './tests/support/sequence.ts'

export default defineConfig({
  test: {
    environment: 'node',
    include: ['tests/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...filesLeftOut()],
    globalSetup: ['tests/support/global-setup.ts'],
    setupFiles: ['tests/support/setup.ts'],
    isolate: false,
    // Many tests wait for another process, or for the clock: one worker more than there are cores. With two more a run is not shorter.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    // The cores have enough to do: garbage is collected where it was made, and what is young stays longer among its like. A server of a test
    // is 15 MB that live until it is closed: with room for ten of them a run takes a tenth less than with room for three.
    execArgv: ['--single-threaded-gc', '--min-semi-space-size=192', '--max-semi-space-size=192'],
    // Nothing is mocked: modules are loaded as Node does it, and nothing looks into them before.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // What is waited for comes in its own time: on a busy machine, later.
    testTimeout: 400_000,
    hookTimeout: 200_000,
    expect: { poll: { timeout: 60_000 } },
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts', 'plugins/**/*.ts'],
      exclude: ['**/dist/**'],
      reporter: ['text-summary', 'html', 'json-summary'],
    },
  },
})
