import { expect } from 'vitest'

const LOGGED = /\{"level":.*\}\n/g

/**
 * That a start, which NODE_DEBUG_NATIVE made say what it looked for, has found all of its TypeScript compiled. Now and then
 * a thread of V8's speaks in the middle of a line, whose end is then nowhere, or is that of what it said. So does the server's log, by the other pipe.
 */
export function expectCompiled(output: string): void {
  const sought =
    output
      .replaceAll(LOGGED, '')
      .match(
        /^.*reading cache from .* for StrippedTypeScript (?!.*(?:\[compile cache\]|keeping the in-memory entry)).*$/gm,
      ) ?? []
  expect(sought.length).toBeGreaterThan(100)
  expect(sought.filter((line) => !line.includes('success'))).toEqual([])
}
