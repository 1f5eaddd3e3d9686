/**
 * How the tests run: on Node's own type stripping, one process-wide PostgreSQL, one database per test file.
 */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    environment: 'node',
    include: ['tests/**/*.test.ts'],
    globalSetup: ['tests/support/global-setup.ts'],
    setupFiles: ['tests/support/setup.ts'],
    isolate: false,
    // Many tests wait for another process: one worker for each core, not one fewer.
    maxWorkers: '100%',
    experimental: { viteModuleRunner: false },
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
