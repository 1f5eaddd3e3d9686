/**
 * The plan of the house: a file imports from its own floor or from one below (docs/adr/0038-floors.md), and never in a circle, not
 * even for a type.
 */
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, normalize, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { ownPlugins } from '../src/plugin-list.ts'
import { needsIn } from './support/left-out.ts'

const ROOT = resolve(import.meta.dirname, '..')

/** From the ground up; the longest path that fits decides. */
const FLOORS = [
  // A package of its own, as anything in node_modules is.
  ['plugins/require-scope'],
  ['src/protocol'],
  ['src/config.ts', 'src/settings', 'src/events.ts', 'src/events'],
  ['src/entities', 'src/migrations'],
  ['src/store'],
  ['src/doors'],
  ['src/services', 'src/words'],
  ['src/http'],
  ['plugins'],
  ['src'],
  ['src/serving'],
  ['src/commands', 'src/doctor', 'src/import', 'src/main.ts'],
] as const

/** The specifiers of what a module loads, types too: `from '…'`, `import '…'` and `import('…')`. */
const SPECIFIER = /(?:^(?:import|export)\b[^;'"]*?|^\} from |\bimport\()\s*'(\.[^']+)'/gm

type House = ReadonlyMap<string, readonly string[]>

async function readHouse(folders: readonly string[]): Promise<House> {
  const found = await Promise.all(
    folders.map(async (folder) => readdir(join(ROOT, folder), { recursive: true })),
  )
  const files = folders.flatMap((folder, at) => found[at]!.map((file) => join(folder, file)))
  const modules = files.filter(
    (file) => file.endsWith('.ts') && !/(?:^|\/)(?:dist|node_modules)\//.test(file),
  )
  const known = new Set(modules)
  return new Map(
    await Promise.all(
      modules.map(async (file) => {
        const text = await readFile(join(ROOT, file), 'utf8')
        const named = [...text.matchAll(SPECIFIER)].map(([, path]) => normalize(join(dirname(file), path!)))
        return [file, named.filter((one) => known.has(one))] as const
      }),
    ),
  )
}

function floorOf(file: string): number {
  let [floor, longest] = [-1, '']
  for (const [at, places] of FLOORS.entries())
    for (const place of places)
      if (place.length > longest.length && (file === place || file.startsWith(`${place}/`))) {
        floor = at
        longest = place
      }
  return floor
}

/** The first circle that is met from each file, as the files on it. */
function circlesIn(house: House): string[] {
  const circles: string[] = []
  const done = new Set<string>()
  const way: string[] = []

  function visit(file: string): void {
    if (done.has(file)) return
    const at = way.indexOf(file)
    if (at >= 0) {
      circles.push([...way.slice(at), file].join(' → '))
      return
    }
    way.push(file)
    for (const next of house.get(file) ?? []) visit(next)
    way.pop()
    done.add(file)
  }

  for (const file of house.keys()) visit(file)
  return circles
}

const house = await readHouse(['src', 'plugins'])
/** What stands beside the house: it may import from any floor. */
const yard = await readHouse(['bench', 'examples', '.ci'])

test('the plan is read: every file has a floor, and imports are found', () => {
  expect([...house.keys()].filter((file) => floorOf(file) < 0)).toEqual([])
  expect(house.get('src/main.ts')).toContain('src/commands/program.ts')
  expect(house.get('src/server.ts')).toContain('src/latchkey.ts')
  expect(house.get('src/index.ts')).toContain('src/doors/facts.ts')
})

test('no file imports from a floor above its own', () => {
  const upward = [...house].flatMap(([file, imported]) =>
    imported.filter((one) => floorOf(one) > floorOf(file)).map((one) => `${file} → ${one}`),
  )
  expect(upward).toEqual([])
})

test('no files import each other in a circle', () => {
  expect(circlesIn(house)).toEqual([])
  expect(yard.get('bench/main.ts')?.length).toBeGreaterThan(5)
  expect(circlesIn(yard)).toEqual([])
})

test('the package that others run imports nothing of the server', () => {
  const own = [...house].filter(([file]) => file.startsWith('plugins/require-scope/'))
  expect(own.length).toBeGreaterThan(10)
  expect(
    own.flatMap(([, imported]) => imported).filter((one) => !one.startsWith('plugins/require-scope/')),
  ).toEqual([])
})

test('a circle and a way up are seen', () => {
  const drawn = new Map([
    ['a', ['b']],
    ['b', ['c', 'd']],
    ['c', ['a']],
    ['d', []],
  ])
  expect(circlesIn(drawn)).toEqual(['a → b → c → a'])
  expect(floorOf('src/services/kernel.ts')).toBeLessThan(floorOf('plugins/oauth/index.ts'))
  expect(floorOf('plugins/require-scope/index.ts')).toBe(0)
})

test('what files of tests need are plugins of ours', async () => {
  const names = new Set(ownPlugins().map(({ name }) => name))
  const needed = await Promise.all(
    (await readdir(join(ROOT, 'tests'), { recursive: true }))
      .filter((file) => file.endsWith('.test.ts'))
      .map(async (file) => needsIn(await readFile(join(ROOT, 'tests', file), 'utf8'))),
  )
  expect(needed.flat().length).toBeGreaterThan(50)
  expect(needed.flat().filter((name) => !names.has(name))).toEqual([])
})
