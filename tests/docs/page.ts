/**
 * A page of docs/ as its test reads it: the code blocks in their order, each of which the test must take and do
 * something with. One that nobody takes makes the test fail.
 */
import { execFile } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { temporaryDirectory } from '../support/cleanup.ts'
import { KEPT, ownProgram } from '../support/process.ts'
import type { Settings } from '../support/settings.ts'

export const checkout = resolve(import.meta.dirname, '../..')
const run = promisify(execFile)

export interface Page {
  /** The next block, which must be of this language. */
  next(language: string): string
  /** Throws when there is a block that was not taken. */
  end(): void
}

export async function openPage(name: string): Promise<Page> {
  const text = await readFile(join(checkout, 'docs', name), 'utf8')
  const blocks = [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language, block]) => ({
    language,
    block: block!,
  }))
  return {
    next(language) {
      const found = blocks.shift()
      if (found?.language !== language)
        throw new Error(
          `docs/${name}: the next block is of ${found?.language ?? 'nothing'}, not ${language}: ${found?.block}`,
        )
      return found.block
    },
    end() {
      if (blocks.length > 0) throw new Error(`docs/${name}: nobody runs this block:\n${blocks[0]!.block}`)
    },
  }
}

/** Replaces texts of a block; one that it does not have is an error, since then the block says something else now. */
export function substitute(block: string, replacements: Readonly<Record<string, string>>): string {
  let text = block
  for (const [from, to] of Object.entries(replacements)) {
    if (!text.includes(from)) throw new Error(`There is no ${from} in this block:\n${block}`)
    text = text.replaceAll(from, to)
  }
  return text
}

export interface Desk {
  /** A folder that looks like the checkout to `npx latchkey`. */
  directory: string
  /** Runs a block of commands; throws with what it printed when one fails. */
  sh(block: string, more?: Settings): Promise<{ stdout: string; stderr: string }>
}

/**
 * npm takes longer to find our command than the command itself takes, and that longer to find its modules than to do
 * anything: the run's bundle does it; `tests/commands/launcher.test.ts` lets npm and the sources.
 */
const npx = () => `#!/bin/sh
[ "$1" = latchkey ] && shift && NODE_COMPILE_CACHE='${KEPT}' exec node ${ownProgram(true).join(' ')} "$@"
PATH=\${PATH#*:} exec npx "$@"
`

/** Where somebody sits who follows a page, under a server's settings; `tools` is the PATH beside our Node. */
export async function sitDown(settings: Settings, tools = process.env['PATH']): Promise<Desk> {
  const directory = await temporaryDirectory()
  const [own, commands] = [join(directory, '.bin'), join(directory, 'node_modules/.bin')]
  const PATH = `${own}:${dirname(process.execPath)}:${tools}`
  for (const folder of [own, commands]) await mkdir(folder, { recursive: true })
  await writeFile(join(own, 'npx'), npx(), { mode: 0o755 })
  await symlink(join(checkout, 'bin/latchkey.js'), join(commands, 'latchkey'))
  const env = (more: Settings): Record<string, string> => {
    const all: Settings = { HOME: directory, LOG_LEVEL: 'error', ...settings, ...more }
    const given = Object.entries(all).filter(([, value]) => value !== undefined)
    return { ...Object.fromEntries(given.map(([name, value]) => [name, String(value)])), PATH }
  }
  return {
    directory,
    sh: async (block, more = {}) => run('sh', ['-euc', block], { cwd: directory, env: env(more) }),
  }
}

/** For a block that no test can run: that a shell would read it, at least. */
export async function assertReadable(block: string): Promise<void> {
  await run('sh', ['-nc', block])
}
