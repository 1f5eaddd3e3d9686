/** The order in which test files begin: those that wait for other processes first, so that nobody waits for them at the end. */
import { readFileSync } from 'node:fs'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What a file uses that makes it long, the longest first: databases of its own that break, processes, browsers, and sweeps over all there is. */
const LONG = [
  /own-postgres|system-postgres|\/stalls\.|\/stage\.|\/fuzz-ground\./,
  /\/(?:process|beside|packages)\.ts/,
  /\/(?:browser|people)\.ts|\/(?:routes|forms)\.ts|ownPlugins|numRuns/,
]

function rank({ moduleId }: TestSpecification): number {
  const source = readFileSync(moduleId, 'utf8')
  const found = LONG.findIndex((one) => one.test(source))
  return found === -1 ? LONG.length : found
}

/** Within those, as Vitest does it: by how long each took the last time, or else by its size. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const ranks = new Map(files.map((file) => [file, rank(file)]))
    // oxlint-disable-next-line unicorn/no-array-sort -- a sequencer's, of which there is one.
    const ordered = await super.sort(files)
    return ordered.toSorted((one, other) => ranks.get(one)! - ranks.get(other)!)
  }
}
