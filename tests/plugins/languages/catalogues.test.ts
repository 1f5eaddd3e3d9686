/** Every message of the source has its words in each language, with the same values and elements, and no catalogue has more. */
import { parse, TYPE, type MessageFormatElement } from '@formatjs/icu-messageformat-parser'
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { sentenceOf } from '../../../src/protocol/message.ts'
import { describe, expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../../..')
const LANGUAGES = ['de', 'es']
/** A message where it is written: the first argument of `message`, `reason`, `t` or `rich`, as one literal. */
const CALL =
  /(?<![\w.$])(message|reason|t|rich)\(\s*(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\$]|\\.)*)`)/g

async function filesOf(folder: string, extensions: RegExp): Promise<string[]> {
  const names = await readdir(join(ROOT, folder), { recursive: true })
  return names
    .filter((name) => extensions.test(name) && !/(?:^|\/)(?:dist|node_modules)\//.test(name))
    .map((name) => join(ROOT, folder, name))
}

async function messagesOfTheSource(): Promise<Map<string, string>> {
  const files = [
    ...(await filesOf('plugins', /\.ts$/)),
    ...(await filesOf('src', /\.ts$/)),
    ...(await filesOf('templates', /\.eta$/)),
  ]
  const found = new Map<string, string>()
  for (const file of files)
    for (const [, call, single, double, back] of (await readFile(file, 'utf8')).matchAll(CALL)) {
      const text = (single ?? double ?? back ?? '').replaceAll(/\\(.)/g, '$1')
      found.set(call === 'reason' ? (sentenceOf(text) as string) : text, file.slice(ROOT.length + 1))
    }
  return found
}

async function catalogueOf(tag: string): Promise<[file: string, english: string, words: string][]> {
  const files = await filesOf(`templates/languages/${tag}`, /\.json$/)
  const read = async (file: string) =>
    Object.entries(JSON.parse(await readFile(file, 'utf8')) as Record<string, string>).map(
      ([english, words]): [string, string, string] => [file.slice(ROOT.length + 1), english, words],
    )
  return (await Promise.all(files.map(read))).flat()
}

/** The names of its values and elements. */
function namesIn(elements: readonly MessageFormatElement[]): string[] {
  return [
    ...new Set(
      elements.flatMap((element): string[] => {
        switch (element.type) {
          case TYPE.argument:
          case TYPE.number:
            return [`{${element.value}}`]
          case TYPE.tag:
            return [`<${element.value}>`, ...namesIn(element.children)]
          case TYPE.select:
          case TYPE.plural:
            return [
              `{${element.value}}`,
              ...Object.values(element.options).flatMap(({ value }) => namesIn(value)),
            ]
          default:
            return []
        }
      }),
    ),
  ].toSorted()
}

const source = await messagesOfTheSource()

describe.each(LANGUAGES)('%s', async (tag) => {
  const catalogue = await catalogueOf(tag)

  test('has every message of the source', () => {
    const known = new Set(catalogue.map(([, english]) => english))
    const missing = [...source].filter(([text]) => text !== '' && !known.has(text))
    expect(missing.map(([text, file]) => `${file}: ${text}`)).toEqual([])
  })

  test('has none that nobody says, and none twice', () => {
    const stray = catalogue.filter(([, english]) => !source.has(english))
    expect(stray.map(([file, english]) => `${file}: ${english}`)).toEqual([])
    const seen = new Set<string>()
    const twice = catalogue.filter(([, english]) => seen.size === seen.add(english).size)
    expect(twice.map(([file, english]) => `${file}: ${english}`)).toEqual([])
  })

  test('keeps the values and elements of each message', () => {
    const namesOf = (text: string) => namesIn(parse(text)).join(' ')
    const wrong = catalogue.filter(
      ([, english, words]) => words.trim() === '' || namesOf(english) !== namesOf(words),
    )
    expect(wrong.map(([file, english]) => `${file}: ${english}`)).toEqual([])
  })
})

/** What somebody would take for another thing, or for something of their own: “Ihre” begins a sentence about the reader alone. */
const OTHER_WORDS =
  /\bTokens\b|Access Token|Redirect-URI|Weiterleitungsadresse|Grant-Typ|\bMensch|\bLeuten?\b/

test('German has one word for one thing', async () => {
  const german = await catalogueOf('de')
  expect(german.filter(([, , words]) => OTHER_WORDS.test(words))).toEqual([])
  const ofTheReader = german.filter(
    ([, english, words]) => english.startsWith('Its ') && /^Ihr(?:e[mnrs]?)? /.test(words),
  )
  expect(ofTheReader).toEqual([])
})
