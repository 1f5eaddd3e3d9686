/** Runs the code that the administration gives developers, in a folder of its own that has the checkout's packages. */
import { execFile } from 'node:child_process'
import { symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { temporaryDirectory } from './cleanup.ts'

interface Given {
  readonly snippet: string
  /** As the page has it. */
  readonly env: string
}

/** What it prints. `files` lie in the folder; `more` is laid over the settings. */
export async function runSnippet(
  { snippet, env }: Given,
  files: Readonly<Record<string, string>> = {},
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const folder = await temporaryDirectory()
  await symlink(resolve(import.meta.dirname, '../../node_modules'), join(folder, 'node_modules'))
  for (const [name, text] of Object.entries({ ...files, 'app.mjs': snippet, '.env': env }))
    await writeFile(join(folder, name), text)
  const { PATH } = process.env
  const args = ['--env-file=.env', 'app.mjs']
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: folder,
    env: { PATH, ...more },
  })
  return stdout.trim()
}
