/**
 * The template engine: `@fastify/view` with Eta, its templates compiled from memory, ours when one is first shown and those of
 * others when they are registered. What a template prints is escaped, a member that its model lacks throws, and every page
 * stands in the one layout.
 */
import view from '@fastify/view'
import { Eta, type TemplateFunction } from 'eta/core'
import type { FastifyInstance } from 'fastify'
import { ConfigError } from '../../src/config.ts'
import { withoutControls } from '../../src/protocol/bidi.ts'
import { type MessageValues, type Words, withValues } from '../../src/protocol/message.ts'
import type { Language } from '../../src/services/languages/language.ts'
import { PSEUDO } from '../../src/services/languages/pseudo.ts'
import type { Brand } from './brand.ts'
import { createMarkers, escapeHtml } from './markup.ts'
import type { Person } from './models.ts'
import { apologyFor } from './words.ts'
import { fullMinuteFrom, linkTo, strict } from './strict.ts'

/** What the layout knows of the server. */
export interface Site {
  brand: Brand
  host: string
  /** The page where people begin (`places.ts`); null for none. */
  readonly home: string | null
  development: boolean
  /** Addresses of the files in `templates/assets/`, by their names. */
  assets: Readonly<Record<string, string>>
}

/** Pages that lead to each other by links on each: at its top, or beside it where there are many and room for them. */
export interface Area {
  label: Words
  /** Those of one `group` stand together, under its name; null for none. */
  links: readonly { text: Words; href: string; group: Words | null }[]
}

/** Whom a page is for. */
export interface Reading {
  /** Who is signed in, for the top of the page; null for a page that does not say. */
  readonly person: Person | null
  readonly language: Language
  /** The stylesheet of the colour of whose page it is; null for that of all pages. */
  readonly theme: string | null
}

export interface Compiled {
  /**
   * Throws `ConfigError` for one that does not compile, or would print without escaping. One of ours compiles (the tests show each), and is
   * compiled when it is `shown`: all of them take a start, and a command, fifty milliseconds.
   */
  add(name: string, source: string, when?: 'now' | 'shown'): void
  has(name: string): boolean
  /** From now on pages stand in it by `title('…', { area: '<name>', here: '<text of a link>' })`. */
  addArea(name: string, area: Area): void
  /** What a template makes of a model, also one of a part of pages. */
  print(name: string, model: object, reading: Reading): string
}

export interface Templates extends Compiled {
  /** A whole page. */
  render(name: string, model: object, reading: Reading): Promise<string>
}

interface Data {
  body: string
}

export const LAYOUT = 'layout'
/** What every page begins with, as the layout does. */
export const DOCTYPE = '<!doctype html>'
/**
 * Every template begins with it: the names that it may use, `title`, which puts the page into the layout, and `part`,
 * which prints another template, of a part of pages, with a model of its own. `t` says a message in the reader's language as plain text,
 * `rich` as markup (`markup.ts`).
 */
const HEADER = `
const { model, site, link, t, rich, el, when, time, timeBy, apology } = it
const title = (text, { wide = false, area = null, here = '', sendsItself = false } = {}) =>
  layout('${LAYOUT}.eta', { title: text, wide, area: area === null ? null : it.areas[area], here, sendsItself })
const part = (name, own) => output(include(\`\${name}.eta\`, { model: own }))`
/** Ways of Eta to print as it is; \`<%body%>\` in the layout is ours. */
const UNESCAPED = /<%[-_]?\s*~|\boutput\(|__eta/

/** By the source, which is all that a function is made of: several servers of a process compile each once. */
const functions = new Map<string, TemplateFunction>()

function compiledOnce(eta: Eta, source: string): TemplateFunction {
  const made = functions.get(source) ?? eta.compile(source)
  functions.set(source, made)
  return made
}

function compiledLate(eta: Eta, source: string): TemplateFunction {
  return function (...given) {
    return compiledOnce(eta, source).apply(this, given)
  }
}

export function compileTemplates(site: Site): Compiled {
  return createEngine(site).compiled
}

function createEngine(site: Site) {
  const eta = new Eta({
    escapeFunction: escapeHtml,
    functionHeader: HEADER,
    parse: { exec: '', interpolate: '=', raw: '' },
    customTags: { body: (_content, data) => (data as Data).body },
  })
  const areas: Record<string, Area> = {}
  const shared = { link: linkTo, apology: apologyFor }

  /** What templates say and show in one language. */
  function spoken(language: Language) {
    return {
      ...createMarkers(language),
      t: (words: Words, values?: MessageValues) => language.say(withValues(words, values)),
      time: language.time,
      timeBy: (at: Date) => language.time(fullMinuteFrom(at)),
      language: { tag: language.tag, direction: language.direction, inTheirZone: language.inTheirZone },
    }
  }
  function givenTo(name: string, model: object, { person, language, theme }: Reading): object {
    const own = { ...shared, ...spoken(language), person, theme }
    // Of this moment: what is served is known once the server has started.
    return { ...own, site: strict(site, 'site'), areas: strict(areas, 'areas'), model: strict(model, name) }
  }
  const compiled: Compiled = {
    add(name, source, when = 'now') {
      if (UNESCAPED.test(source)) throw new ConfigError(`The template ${name} prints without escaping.`)
      try {
        eta.loadTemplate(
          `${name}.eta`,
          when === 'shown' ? compiledLate(eta, source) : compiledOnce(eta, source),
        )
      } catch (cause) {
        throw new ConfigError(`The template ${name} does not compile.`, { cause })
      }
    },
    has: (name) => eta.templatesSync.get(`${name}.eta`) !== undefined,
    addArea(name, area) {
      areas[name] = area
    },
    print: (name, model, reading) =>
      settled(eta.render(`${name}.eta`, givenTo(name, model, reading)), reading.language),
  }
  return { compiled, eta, givenTo }
}

export async function createTemplates(fastify: FastifyInstance, site: Site): Promise<Templates> {
  const { compiled, eta, givenTo } = createEngine(site)
  const render = await createView(fastify, eta)
  return {
    ...compiled,
    async render(name, model, reading) {
      const html = await render(name, givenTo(name, model, reading))
      if (!html.startsWith(DOCTYPE)) throw new Error(`The template ${name} has no title.`)
      return settled(html, reading.language)
    },
  }
}

/** Names keep to themselves. The words of the pseudo-language are turned around by the same characters, which nobody reads but developers. */
export function settled(html: string, { tag }: Pick<Language, 'tag'>): string {
  return tag === PSEUDO ? html : withoutControls(html)
}

/** In a scope of its own: what it adds to replies and requests is not for those who serve no pages. */
async function createView(fastify: FastifyInstance, eta: Eta): Promise<FastifyInstance['view']> {
  let render: FastifyInstance['view'] | undefined
  await fastify.register(async (scope) => {
    await scope.register(view, { engine: { eta }, production: true })
    render = scope.view
  })
  return render!
}
