/**
 * Compiles a package to its `dist/` for `npm pack`: JavaScript, and the declarations that its entries lead to. Types
 * are checked by `npm run check`; here it is checked that the public ones mention no package a stranger need not know.
 */
import { execFileSync } from 'node:child_process'
import { cp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'

interface Package {
  /** Where its `dist` lies, from the root of the checkout. */
  readonly directory: string
  /** Declarations that its `exports` name, below `dist`. */
  readonly entries: readonly string[]
  /** Folders that are copied as they are. */
  readonly folders: readonly string[]
}

const PACKAGES: Readonly<Record<string, Package>> = {
  latchkey: {
    directory: '.',
    entries: ['src/index.d.ts', 'src/testing.d.ts'],
    folders: ['templates'],
  },
  'require-scope': {
    directory: 'plugins/require-scope',
    entries: ['index.d.ts', 'testing.d.ts'],
    folders: [],
  },
}
/** What a public declaration may refer to; not the ORM, its driver, or anything else that is ours alone. */
const PUBLIC = new Set(['fastify', 'jose', 'typebox'])
/** The module names of a declaration file: `from '…'`, `import('…')` and `import '…'`. */
const SPECIFIER = /(?<=\bfrom |\bimport\(|\bimport )(['"])([^'"\n]+)\1/g

const root = resolve(import.meta.dirname, '..')
const name = process.argv[2] ?? 'latchkey'
const built = PACKAGES[name]
if (built === undefined) throw new Error(`there is no package ${name}: ${Object.keys(PACKAGES).join(', ')}`)
const dist = join(root, built.directory, 'dist')

await rm(dist, { recursive: true, force: true })
const compiler = join(root, 'node_modules/typescript/bin/tsc')
const project = join(import.meta.dirname, `tsconfig.${name}.json`)
execFileSync(process.execPath, [compiler, '-p', project, '--singleThreaded'], { stdio: 'inherit' })
// The compiler copies what is imported; this one is imported by the package's name, from the package's root.
await rm(join(dist, 'package.json'), { force: true })
await keepPublicDeclarations(dist, built.entries)
for (const folder of built.folders)
  await cp(join(root, built.directory, folder), join(dist, folder), { recursive: true })

/** Removes declarations that no entry leads to, and lets the others import files that are there. */
async function keepPublicDeclarations(directory: string, entries: readonly string[]): Promise<void> {
  const reached = new Set(entries.map((entry) => join(directory, entry)))
  for (const file of reached) {
    const text = await readFile(file, 'utf8')
    for (const [, , specifier = ''] of text.matchAll(SPECIFIER)) {
      if (specifier.startsWith('.')) reached.add(join(dirname(file), specifier.replace(/\.ts$/, '.d.ts')))
      else assertPublic(specifier, relative(directory, file))
    }
    const rewritten = text.replaceAll(SPECIFIER, (quoted) =>
      quoted.replace(/^(['"]\..*)\.ts(['"])$/, '$1.js$2'),
    )
    await writeFile(file, rewritten)
  }
  for (const file of await readdir(directory, { recursive: true })) {
    const path = join(directory, file)
    if (file.endsWith('.d.ts') && !reached.has(path)) await rm(path)
  }
}

function assertPublic(specifier: string, file: string): void {
  const packageName = specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
  if (PUBLIC.has(packageName) || specifier.startsWith('node:')) return
  throw new Error(`${file}: the public declarations must not mention ${specifier}`)
}
