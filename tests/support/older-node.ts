/** A Node of the machine's own that is too old for the sources, as many machines have; tests with it are skipped without one. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Its path. */
export const olderNode = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((directory) => join(directory, 'node'))
  .find((node) => existsSync(node) && major(node) < 22)

if (olderNode === undefined)
  process.stderr.write(
    '\n!!! SKIPPED: no Node older than 22 is here, so what happens on one is NOT tested.\n\n',
  )

function major(node: string): number {
  return Number(/^v(\d+)/.exec(spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout)?.[1] ?? Infinity)
}
