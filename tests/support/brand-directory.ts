/** Folders for BRAND_DIRECTORY. */
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { TEMPLATES_VERSION } from '../../plugins/pages/brand/version.ts'
import { temporaryDirectory } from './cleanup.ts'

/** Where a link leads. */
export interface Link {
  readonly to: string
}

const MANIFEST = JSON.stringify({ templates: TEMPLATES_VERSION })

/** A folder with these files, by their paths; `brand.json` is as it should be, unless it is given, or null for none. */
export async function brandDirectory(
  files: Readonly<Record<string, string | Buffer | Link | null>>,
): Promise<string> {
  const folder = await temporaryDirectory()
  const all: typeof files = { 'brand.json': MANIFEST, ...files }
  for (const [path, content] of Object.entries(all)) {
    const file = join(folder, path)
    await mkdir(dirname(file), { recursive: true })
    if (content === null) continue
    if (typeof content === 'string' || Buffer.isBuffer(content)) await writeFile(file, content)
    else await symlink(content.to, file)
  }
  return folder
}

/** A template of ours, with changes; a text that is not there is an error. */
export async function templateWith(
  name: string,
  ...changes: readonly [from: string, to: string][]
): Promise<string> {
  let source = await readFile(new URL(`../../templates/${name}.eta`, import.meta.url), 'utf8')
  for (const [from, to] of changes) {
    if (!source.includes(from)) throw new Error(`templates/${name}.eta has no ${from}`)
    source = source.replace(from, to)
  }
  return source
}
