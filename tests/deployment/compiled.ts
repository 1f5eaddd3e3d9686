import { expect } from 'vitest'

/** That a start, which NODE_DEBUG_NATIVE made say what it looked for, has found all of its TypeScript compiled. */
export function expectCompiled(output: string): void {
  const sought = output.match(/^.*reading cache from .* for StrippedTypeScript .*$/gm) ?? []
  expect(sought.length).toBeGreaterThan(100)
  expect(sought.filter((line) => !line.includes('success'))).toEqual([])
}
