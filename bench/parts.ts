// Owns the parts of a page that runs write: each stands between two comments that name it, and the rest of the page is
// written by hand.

import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Figures } from './figures.ts'

export interface Part {
  /** Of `docs/`; performance.md if nothing is said. */
  page?: string
  name: string
  /** Markdown. */
  text: string
  /** What the capacity page does its arithmetic on. */
  figures?: Partial<Figures>
}

/** `npm run bench` has oxfmt in its path; without it only the columns of the tables are ragged. */
export function writeParts(parts: readonly Part[]): void {
  for (const part of parts) {
    const { page = 'performance.md' } = part
    const file = fileURLToPath(new URL(`../docs/${page}`, import.meta.url))
    writeFileSync(file, replacePart(readFileSync(file, 'utf8'), part, page))
    spawnSync('oxfmt', [file])
  }
}

function replacePart(page: string, { name, text }: Part, where: string): string {
  const [begin, end] = [`<!-- bench: ${name} -->`, `<!-- /bench: ${name} -->`]
  const [before, rest = ''] = page.split(begin)
  const [, after] = rest.split(end)
  if (before === undefined || after === undefined) throw new Error(`${where} has no part ${name}`)
  return `${before}${begin}\n\n${text}\n\n${end}${after}`
}
