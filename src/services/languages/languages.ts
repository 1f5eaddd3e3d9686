/**
 * The languages of the server: those that the setting UI_LOCALES names, each with a catalogue (`catalogues.ts`). Which of them somebody
 * reads is found by what was asked for, by their own choice and by their browser, in this order.
 */
import { ConfigError, type Config } from '../../config.ts'
import type { User } from '../../doors/user.ts'
import { isTag, lookUp, tagsIn } from '../../protocol/language-tags.ts'
import { createCatalogues, type Catalogue } from './catalogues.ts'
import { problemIn } from './checked-catalogue.ts'
import { createLanguage, type Language, type Parsed } from './language.ts'
import { pseudo, PSEUDO } from './pseudo.ts'

/** Who reads; the first of their languages that there is counts. */
export interface Reader {
  /** BCP 47, by preference. */
  readonly tags: readonly string[]
  /** IANA; null where nobody has said. */
  readonly zone: string | null
}

export interface Languages {
  /** BCP 47: those that are spoken here, the first to who asks for none of them. */
  readonly tags: readonly string[]
  /**
   * Adds to what is said in a language, or replaces it: English to that language, both in ICU MessageFormat. For pages of plugins, and
   * for languages that the server does not bring; UI_LOCALES names those that are spoken. Throws `ConfigError` for what cannot be said.
   */
  add(tag: string, messages: Catalogue): void
  /** @internal Throws `ConfigError` for a language that nobody has brought. */
  assertSpoken(): Promise<void>
  /** The language of a reader. */
  of(reader: Reader): Promise<Language>
}

const ENGLISH = 'en'
/** Dates are as British as the spelling. */
const REGIONS: Readonly<Record<string, string>> = { en: 'en-GB', [PSEUDO]: 'en-GB' }

export function createLanguages({
  UI_LOCALES: tags,
  production,
}: Pick<Config, 'UI_LOCALES' | 'production'>): Languages {
  const catalogues = createCatalogues()
  const made = new Map<string, Promise<Language>>()
  /** Of each language, whatever the time zone. */
  const parsed = new Map<string, Parsed>()
  const known = production ? tags : [...tags, PSEUDO]

  async function make(tag: string, zone: string | null): Promise<Language> {
    const region = REGIONS[tag] ?? tag
    if (tag === PSEUDO) return createLanguage({ tag, region, zone, find: () => undefined, shape: pseudo })
    const messages = await catalogues.read(tag)
    const known = parsed.get(tag) ?? (new Map() as Parsed)
    parsed.set(tag, known)
    return createLanguage({ tag, region, zone, find: (text) => messages.get(text), parsed: known })
  }

  return {
    tags,
    add(tag, messages) {
      if (!isTag(tag) || !isLocale(tag))
        throw new ConfigError(`${JSON.stringify(tag)} is no language tag, such as fr or pt-BR.`)
      const problem = problemIn(messages)
      if (problem !== undefined) throw new ConfigError(`The catalogue of ${tag}${problem}.`)
      catalogues.add(tag, messages)
      made.clear()
      parsed.clear()
    },
    async assertSpoken() {
      const there = new Set([ENGLISH, ...(await catalogues.tags())])
      const missing = tags.find((tag) => !there.has(tag))
      if (missing !== undefined)
        throw new ConfigError(
          `UI_LOCALES names ${missing}, and there is no catalogue of it: there are ${[...there].join(', ')}.`,
        )
    },
    async of({ tags: asked, zone }) {
      const tag = lookUp(asked, known) ?? tags[0]!
      const place = zone !== null && isZone(zone) ? zone : null
      const key = `${tag} ${place ?? ''}`
      const language = made.get(key) ?? make(tag, place)
      if (made.size < MOST) made.set(key, language)
      return language
    },
  }
}

/** Who reads what they have chosen themselves: the claims `locale` and `zoneinfo` (OpenID Connect Core §5.1). */
export function chosenBy({ claims }: Pick<User, 'claims'>): Reader {
  const { locale, zoneinfo } = claims as { locale?: string; zoneinfo?: string }
  return {
    tags: locale === undefined ? [] : tagsIn(locale.replaceAll('_', '-')),
    zone: zoneinfo ?? null,
  }
}

/** Languages by time zones; each holds the messages that it has said. */
const MOST = 200

/** Whether dates and numbers can be said in it, of which there is no other way to ask than to try. */
function isLocale(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length > 0
  } catch {
    return false
  }
}

/** Whether this Node knows it, which throws for others. */
function isZone(zone: string): boolean {
  try {
    Intl.DateTimeFormat('en', { timeZone: zone })
    return true
  } catch {
    return false
  }
}
