/**
 * Templates of an operator's in the place of ours. Each is tried with samples before the server is ready, beside ours: it prints, it escapes,
 * and it has what others rely on. Throws `ConfigError` in a sentence that names it and what is missing.
 */
import { basename } from 'node:path'
import { isMessage } from '../../../src/protocol/message.ts'
import type { Language } from '../../../src/services/languages/language.ts'
import { type Area, type Compiled, DOCTYPE, LAYOUT, type Reading } from '../templates.ts'
import { refusal } from './folder.ts'
import { forbiddenIn, promisesOf, repeatedId } from './promises.ts'
import { PERSON, SAMPLES } from './samples.ts'
import { textIn } from './tags.ts'

/** The templates that pages are made of. */
export interface Source {
  /** `file` is where `ours` was read. */
  add(name: string, file: URL, ours: string): void
  addArea(name: string, area: Area): void
}

/** By the page, members of its model that people have to read there: texts, or lists of them. */
export type MustShow = ReadonlyMap<string, ReadonlySet<string>>

export interface OwnTemplates extends Source {
  /** Tries them in a language, also whether they show what they must; returns the names of those that are shown. */
  check(language: Language, mustShow: MustShow): readonly string[]
}

/** They would have a way to the files of the server, or out of the layout. */
const READS = /\binclude(?:Async)?\s*\(|\blayout\s*\(/
const UNESCAPED = 'prints without escaping'
const CANARY = '<canary'
const HOSTILE = `"'>${CANARY} onerror=x>&amp;`
const TRIAL = 'trial-of-the-layout'

/** `live` is what pages are made of, `ours` the same without anything of theirs; `folder` is where all of ours lie. */
export function createOwnTemplates(
  live: Compiled,
  ours: Compiled,
  { sources, folder }: { sources: ReadonlyMap<string, string>; folder: URL },
): OwnTemplates {
  /** Names of files, and the pages that they are shown by. */
  const shown = new Map<string, string>()

  function addOwn(file: string, page: string, source: string): void {
    if (READS.test(source)) throw refused(file, `reads another file; part('name', model) prints one of ours`)
    try {
      live.add(page, source)
    } catch (error) {
      const { cause } = error as Error
      throw refused(file, cause === undefined ? UNESCAPED : `does not compile: ${lineOf(cause)}`, error) // prettier-ignore
    }
    shown.set(file, page)
  }

  function print(file: string, page: string, model: object, reading: Reading): string {
    try {
      return live.print(page, model, reading)
    } catch (error) {
      throw refused(file, `fails: ${lineOf(error)}`, error)
    }
  }

  function check(file: string, page: string, model: object, reading: Reading): void {
    const [html, poisoned] = [model, hostile(model)].map((one) => print(file, page, one, reading)) as [
      string,
      string,
    ]
    if (poisoned.includes(CANARY)) throw refused(file, UNESCAPED)
    const expected = ours.print(page, model, reading)
    if (expected.startsWith(DOCTYPE) !== html.startsWith(DOCTYPE))
      throw refused(file, expected.startsWith(DOCTYPE) ? `must begin with <% title('…') %>` : 'is a part of a page, and has no title') // prettier-ignore
    const has = promisesOf(html)
    const missing = [...promisesOf(expected)].find(([key]) => !has.has(key))
    if (missing !== undefined) throw refused(file, `has no ${missing[1]}, which others rely on`)
    const twice = repeatedId(html)
    if (twice !== undefined) throw refused(file, `has the id ${twice} twice`)
    const forbidden = forbiddenIn(html)
    if (forbidden !== undefined) throw refused(file, `has ${forbidden}, which the policy of pages forbids`)
    // A value without quotes around it ends at a blank, and what comes then is an attribute.
    if (forbiddenIn(poisoned) !== undefined) throw refused(file, 'prints in an attribute without quotes')
  }

  function checkShown(
    file: string,
    page: string,
    model: object,
    language: Language,
    mustShow: MustShow,
  ): void {
    const read = textIn(print(file, page, model, { person: null, language, theme: null }))
    for (const member of mustShow.get(page) ?? []) {
      const texts = [(model as Record<string, unknown>)[member]]
        .flat()
        .filter((one) => typeof one === 'string')
      if (!texts.every((text) => read.includes(text)))
        throw refused(
          file,
          `does not show model.${member}, which people have to read with the settings of this start`,
        )
    }
  }

  /** With everything that it may show: somebody who is signed in, and links of an area. */
  function checkLayout(file: string, language: Language): void {
    const source = `<% title('x', { area: '${TRIAL}', here: 'One' }) %><h1>x</h1>`
    const links = ['One', 'Two'].map((text) => ({ text, href: `/${text}`, group: 'Both' }))
    const area = { label: 'Area', links }
    for (const templates of [live, ours]) {
      templates.addArea(TRIAL, area)
      templates.add(TRIAL, source)
    }
    check(file, TRIAL, {}, { person: PERSON, language, theme: '/theme.css' })
    for (const page of ['confirm', 'error'])
      for (const model of SAMPLES[page]!.models)
        check(file, page, model, { person: PERSON, language, theme: null })
  }

  return {
    add(name, url, text) {
      ours.add(name, text)
      const file = basename(url.pathname, '.eta')
      const isOurs = new URL('.', url).href === folder.href
      const source = isOurs ? sources.get(file) : undefined
      if (source === undefined) live.add(name, text)
      else addOwn(file, name, source)
    },
    addArea(name, area) {
      live.addArea(name, area)
      ours.addArea(name, area)
    },
    check(language, mustShow) {
      for (const [file, page] of shown) {
        if (file === LAYOUT) checkLayout(file, language)
        for (const model of SAMPLES[file]?.models ?? [])
          if (partsOf(model).every((part) => live.has(part))) {
            check(file, page, model, { person: null, language, theme: null })
            checkShown(file, page, model, language, mustShow)
          }
      }
      return [...shown.keys()].toSorted()
    },
  }
}

function refused(file: string, what: string, cause?: unknown): Error {
  return refusal(`templates/${file}.eta ${what}`, { cause })
}

/** Plugins that show some of them may be left out. */
function partsOf(model: object): string[] {
  const { elements = [] } = model as { elements?: readonly { part: string }[] }
  return elements.map(({ part }) => part)
}

/** Every text is hostile; what must be an address stays one, and what is the name of a template, or a message, is nobody's to give. */
function hostile<T>(value: T): T {
  if (typeof value === 'string') return (/^(?:https?:\/)?\//.test(value) ? value + HOSTILE : HOSTILE) as T
  if (Array.isArray(value)) return value.map(hostile) as T
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  if (isMessage(value)) return { ...value, values: hostile(value.values) }
  const members = Object.entries(value).map(([name, inner]: [string, unknown]) => [
    name,
    name === 'part' ? inner : hostile(inner),
  ])
  return Object.fromEntries(members) as T
}

/** The one that says what is wrong: engines say more, over many. */
function lineOf(error: unknown): string {
  const lines = (error as Error).message.replace(/^Bad template syntax\s*/, '').split('\n')
  return lines[0]!.replace(/[.:]$/, '').slice(0, 200)
}
