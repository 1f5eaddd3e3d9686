/**
 * Templates of operators rest on what ours are given, and keep what ours have. Both are written down in `template-interface.txt`, so that a
 * change is somebody's decision: whether theirs go on working, or the version of the templates goes up.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { promisesOf } from '../../../plugins/pages/brand/promises.ts'
import { PERSON, SAMPLES } from '../../../plugins/pages/brand/samples.ts'
import { TEMPLATES_VERSION } from '../../../plugins/pages/brand/version.ts'
import type { Brand } from '../../../plugins/pages/brand.ts'
import type { Person } from '../../../plugins/pages/models.ts'
import { compileTemplates, type Compiled, type Reading, type Site } from '../../../plugins/pages/templates.ts'
import { isMessage } from '../../../src/protocol/message.ts'
import { createLanguage } from '../../../src/services/languages/language.ts'

/** Lines such as `login given client.name: text` and `login has form#login`. */
type Interface = Set<string>

const TEMPLATES = new URL('../../../templates/', import.meta.url)
const FILE = new URL('template-interface.txt', import.meta.url)
const RECORD = 'RECORD_TEMPLATES=yes npx vitest run tests/plugins/pages/template-version.test.ts'
const WRITE = `Write it down: ${RECORD}`
/** What all of them are given; types tell when one is missing here. */
const SITE: Readonly<Record<keyof Site, true>> = {
  brand: true,
  host: true,
  home: true,
  development: true,
  assets: true,
}
const BRAND: Readonly<Record<keyof Brand, true>> = {
  name: true,
  logo: true,
  links: true,
  theme: true,
  style: true,
  assets: true,
}
const READING: Readonly<Record<keyof Reading, true>> = { person: true, language: true, theme: true }

function kindsOf(value: unknown, path: string): string[] {
  if (value === null || typeof value !== 'object')
    return [`${path}: ${value === null ? 'null' : kindOf(value)}`]
  if (value instanceof Date) return [`${path}: time`]
  // Which of both a text is, is for who says it.
  if (isMessage(value)) return [`${path}: text`]
  if (Array.isArray(value)) return value.flatMap((one) => kindsOf(one, `${path}[]`))
  return Object.entries(value).flatMap(([name, inner]) =>
    kindsOf(inner, path === '' ? name : `${path}.${name}`),
  )
}

const kindOf = (value: unknown): string => (typeof value === 'string' ? 'text' : typeof value)

/** All of ours, as they print. */
async function compile(): Promise<Compiled> {
  const assets = (await readdir(new URL('assets/', TEMPLATES))).map((name) => [
    name,
    `/assets/${name.replace('.', '.0.')}`,
  ])
  const brand = { name: 'x', logo: '/x', links: [], theme: null, style: null, assets: {} }
  const site = {
    brand,
    host: 'x',
    home: '/',
    development: false,
    assets: Object.fromEntries(assets) as Record<string, string>,
  }
  const compiled = compileTemplates(site)
  for (const file of (await readdir(TEMPLATES)).filter((name) => name.endsWith('.eta'))) {
    const name = file.slice(0, -'.eta'.length)
    compiled.add(SAMPLES[name]?.page ?? name, await readFile(new URL(file, TEMPLATES), 'utf8'))
  }
  return compiled
}

async function readInterface(): Promise<Interface> {
  const source = await readFile(new URL('../../../plugins/pages/templates.ts', import.meta.url), 'utf8')
  const [, names = ''] = /^const \{ (.*) \} = it$/m.exec(source)!
  const [, options = ''] = /^const title = \(text, \{ (.*) \} = \{\}\) =>$/m.exec(source)!
  const compiled = await compile()
  const language = createLanguage({ tag: 'en', region: 'en-GB', zone: null, find: () => undefined })
  const promised = (page: string, model: object, person: Person | null): string[] => [
    ...promisesOf(compiled.print(page, model, { language, person, theme: null })).values(),
  ]
  const lines = (name: string, given: readonly string[], has: readonly string[]): string[] => [
    ...given.map((one) => `${name} given ${one}`),
    ...has.map((one) => `${name} has ${one}`),
  ]
  const all = [
    ...names.split(', '),
    'part',
    ...options.split(', ').map((one) => `title: ${one}`),
    ...Object.keys(SITE).map((name) => `site.${name}`),
    ...Object.keys(BRAND).map((name) => `site.brand.${name}`),
    ...(await readdir(new URL('assets/', TEMPLATES))).map((name) => `site.assets['${name}']`),
  ]
  const layout = [...Object.keys(READING).map((name) => `it.${name}`), ...kindsOf(PERSON, 'it.person')]
  const [message] = SAMPLES['page-message']!.models
  return new Set([
    ...lines('all', all, []),
    ...lines('layout', layout, promised('page-message', message!, PERSON)),
    ...Object.entries(SAMPLES).flatMap(([name, { page, models }]) => {
      const given = models.flatMap((model) => kindsOf(model, ''))
      return lines(
        name,
        given,
        models.flatMap((model) => promised(page, model, null)),
      )
    }),
  ])
}

const without = (all: Interface, others: Interface): string[] => [...all].filter((line) => !others.has(line))

/** Whether a template that did before would fail when this line is new, or is gone. */
const asksWhenNew = (line: string): boolean => / has |: null$/.test(line)

/** Whether it stood there for something, as which it may be another kind now; of a page that is new, nothing did. */
function isKnown(line: string, before: Interface): boolean {
  const known = / has /.test(line) ? line.replace(/ has .*$/, ' ') : line.replace(/null$/, '')
  return [...before].some((one) => one.startsWith(known))
}

/** What is to be done, for who changed something; `''` for nothing. */
function verdictOf(first: string, before: Interface, now: Interface): string {
  const [more, gone] = [without(now, before), without(before, now)]
  const broken = [
    ...gone.filter((line) => !asksWhenNew(line)).map((line) => `no longer: ${line}`),
    ...more.filter((line) => asksWhenNew(line) && isKnown(line, before)).map((line) => `now: ${line}`),
  ]
  const isSame = first === `version ${TEMPLATES_VERSION}`
  if (isSame && broken.length > 0)
    return `Templates that operators have made for this version would no longer do.\n${broken.join('\n')}\nLeave it as it was, or raise TEMPLATES_VERSION (plugins/pages/brand/version.ts), say in docs/brand.md what has changed, and write it down: ${RECORD}`
  if (isSame && more.length + gone.length === 0) return ''
  return `Templates of operators go on working, and something is new.\n${[...more, ...gone].join('\n')}\n${WRITE}`
}

test('what templates rest on is what is written down, or its version has gone up', async () => {
  const now = await readInterface()
  const read = async (): Promise<string> => {
    const [first = '', ...former] = (await readFile(FILE, 'utf8').catch(() => 'version 0')).trim().split('\n')
    return verdictOf(first, new Set(former), now)
  }
  const isForRecord = process.env['RECORD_TEMPLATES'] !== undefined && (await read()).endsWith(WRITE)
  if (isForRecord)
    await writeFile(FILE, `${[`version ${TEMPLATES_VERSION}`, ...[...now].toSorted()].join('\n')}\n`)
  expect(await read()).toBe('')
})
