/** The form of every statement that the distributed tables are asked by: nothing of it is what Citus refuses, also where there is no Citus. */
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { EXCHANGING } from '../../../src/store/authorization-codes.ts'
import { distributedTables } from '../../../src/store/distribution/tables.ts'
import { ROTATING } from '../../../src/store/refresh-tokens.ts'
import { tableOf, textOn, type Statement } from '../../../src/store/statement.ts'
import { RULES, refusedIn, type Tables } from '../../support/citus-forms.ts'
import { createDatabase } from '../../support/database.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const STORE = join(ROOT, 'src/store')
const table = tableOf()
const distributed = new Map(distributedTables().map(({ bare, key }) => [bare, key.replaceAll('"', '')]))

async function localTables(): Promise<Tables['local']> {
  const database = await createDatabase({ distributed: false })
  const columns = await database.query<{ table: string; column: string }>(
    `select table_name as "table", column_name as "column" from information_schema.columns where table_schema = 'public'`,
  )
  const local = new Map<string, Set<string>>()
  for (const { table: name, column } of columns)
    if (!distributed.has(name)) local.set(name, (local.get(name) ?? new Set()).add(column))
  return local
}

const tables: Tables = { distributed, local: await localTables() }

async function statementsOfStore(): Promise<Statement<unknown>[]> {
  const files = (await readdir(STORE)).filter((file) => file.endsWith('.ts'))
  const modules = await Promise.all(
    files.map(async (file) => import(join(STORE, file)) as Promise<{ statements?: object }>),
  )
  const all = modules.flatMap(({ statements = {} }) => Object.values(statements) as Statement<unknown>[])
  return all.filter(({ onOneServer }) => onOneServer !== true)
}

const names = [...distributed.keys()].join('|')
const asking = (await statementsOfStore())
  .filter((one) => new RegExp(`"(?:${names})"`).test(one.build(table)))
  .map((one) => [one.name, textOn('citus', one, table)] as const)

test('there are statements to look at, and all that are called on Citus are in functions', () => {
  expect(asking.length).toBeGreaterThan(35)
  const called = asking.filter(([, text]) => !new RegExp(`"(?:${names})"`).test(text))
  expect(called.map(([name]) => name).toSorted()).toEqual([
    'authorization-code-exchange',
    'authorization-code-exchange-opaque',
    'refresh-token-rotate-opaque',
  ])
})

test.each([
  ...asking,
  ...[EXCHANGING, ROTATING].map((one) => [one.signature(table), one.create(table)] as const),
])('%s has no form that Citus refuses', (_name, text) => {
  expect(refusedIn(text.replace(/^[^$]*\$body\$[\s\S]*?\bbegin\b/, ''), tables)).toEqual([])
})

test.each(RULES)('$says is noticed', ({ says, example }) => {
  expect(refusedIn(example, tables)).toContain(says)
})

test('as PostgreSQL takes them, some have such a form, and the rules see it', async () => {
  const refused = (await statementsOfStore())
    .filter((one) => new RegExp(`"(?:${names})"`).test(one.build(table)))
    .map((one) => [one.name, refusedIn(one.build(table), tables)] as const)
    .filter(([, says]) => says.length > 0)
  expect(Object.fromEntries(refused)).toEqual({
    'authorization-code-exchange': [RULES[5]!.says],
    'authorization-code-exchange-opaque': [RULES[5]!.says],
    'refresh-token-rotate-opaque': [RULES[5]!.says],
    'authorizations-of-clients': [RULES[1]!.says],
    'consents-connected': [RULES[2]!.says],
    'authorizations-due': [RULES[6]!.says],
  })
})

/** What is not a statement of the store would not be looked at here: that one counts rows, by MikroORM. */
const COUNTS = ['src/services/registration/unused-registrations.ts']

test('nothing else asks the distributed tables', async () => {
  const files = await Promise.all(
    ['src', 'plugins'].map(async (folder) => readdir(join(ROOT, folder), { recursive: true })),
  )
  const paths = files
    .flatMap((found, at) => found.map((file) => join(['src', 'plugins'][at]!, file)))
    .filter((path) => path.endsWith('.ts') && !/^src\/(?:store|entities|migrations)\//.test(path))
  expect(paths.length).toBeGreaterThan(200)
  const entities = ['Authorization', 'AuthorizationCode', 'RefreshToken', 'AccessToken']
  const asks = new RegExp(
    `import \\{[^}]*\\b(?<!type )(?:${entities.join('|')})\\b[^}]*\\} from '[^']*entities/|["\`\\s.](?:from|into|update|join)\\s+"?(?:${names})\\b`,
  )
  const found = []
  for (const path of paths) if (asks.test(await readFile(join(ROOT, path), 'utf8'))) found.push(path)
  expect(found).toEqual(COUNTS)
})
