/**
 * `npm run test:guards`: takes each guard of `guards.ts` out of a copy of the sources, runs the module that is there for it, and
 * expects it to fail. What passes all the same is a guard that nothing guards. Words after it choose guards by file or module.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { GUARDS, type Guard } from './guards.ts'

interface Results {
  readonly testResults: readonly {
    readonly message: string
    readonly assertionResults: readonly { readonly title: string; readonly status: string }[]
  }[]
}

const root = join(import.meta.dirname, '../..')
const LEFT_OUT = new Set(['node_modules', '.git', 'coverage'])

async function createCopy(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'guards-'))
  const filter = (source: string): boolean => !LEFT_OUT.has(relative(root, source).split('/').at(-1)!)
  await cp(root, copy, { recursive: true, filter })
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)

/** How the tests of these modules ended, each by the module's name. */
async function ranIn(copy: string, plan: string, modules: readonly string[]) {
  const outputFile = join(copy, 'guards.json')
  await rm(outputFile, { force: true })
  const child = spawn(
    process.execPath,
    [
      join(copy, 'node_modules/vitest/vitest.mjs'),
      'run',
      join('tests/conformance', plan),
      '--testNamePattern',
      ` (?:${modules.map(escaped).join('|')})$`,
      '--reporter=json',
      `--outputFile=${outputFile}`,
    ],
    { cwd: copy, stdio: 'ignore' },
  )
  await once(child, 'exit')
  const { testResults } = JSON.parse(await readFile(outputFile, 'utf8')) as Results
  const ran = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ title, status }) => modules.includes(title) && ['passed', 'failed'].includes(status))
  for (const module of modules)
    if (!ran.some(({ title }) => title === module))
      throw new Error(`${module} did not run: ${testResults[0]?.message}`)
  return ran
}

const failedIn = (ran: readonly { title: string; status: string }[]): string[] =>
  ran.filter(({ status }) => status === 'failed').map(({ title }) => title)

async function isRedWithout(copy: string, guard: Guard): Promise<boolean> {
  const path = join(copy, guard.file)
  const whole = await readFile(path, 'utf8')
  await writeFile(
    path,
    whole.replace(guard.text, () => guard.without),
  )
  try {
    return failedIn(await ranIn(copy, guard.plan, [guard.module])).length > 0
  } finally {
    await writeFile(path, whole)
  }
}

const words = process.argv.slice(2)
const chosen = GUARDS.filter(({ file, module }) =>
  words.every((word) => file.includes(word) || module.includes(word)),
)
const copy = await createCopy()
let unguarded = 0
try {
  for (const [plan, guards] of Map.groupBy(chosen, (guard) => guard.plan)) {
    const failing = failedIn(await ranIn(copy, plan, [...new Set(guards.map(({ module }) => module))]))
    if (failing.length > 0) throw new Error(`these fail already: ${failing.join(', ')}`)
    for (const guard of guards) {
      const isRed = await isRedWithout(copy, guard)
      if (!isRed) unguarded++
      console.log(`${isRed ? 'red ' : 'GREEN'} ${guard.module}\n      ${guard.file}: ${guard.text}`)
    }
  }
} finally {
  await rm(copy, { recursive: true, force: true })
}
console.log(`${chosen.length - unguarded} of ${chosen.length} turn their module red`)
process.exitCode = unguarded === 0 && chosen.length > 0 ? 0 : 1
