/** Markup that is made in templates: what stands in it is escaped, and nothing else makes any. */
import { isMessage, type MessageValue, type MessageValues, type Words } from '../../src/protocol/message.ts'
import type { Composer, Language } from '../../src/services/languages/language.ts'

class Markup {
  readonly html: string

  constructor(html: string) {
    this.html = html
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** The only way into a page: text and numbers, escaped for content and for quoted attributes; and what is markup already. */
export function escapeHtml(value: unknown): string {
  if (value instanceof Markup) return value.html
  if (typeof value !== 'string' && typeof value !== 'number')
    throw new TypeError(`a template prints text and numbers, not ${value === null ? 'null' : typeof value}`)
  return String(value).replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!)
}

type Content = string | number | Markup
type RichValue = MessageValue | Markup | ((content: Markup) => Markup)

/** What templates make markup with, in one language. */
export interface Markers {
  /** An element; text in it is shown in its own direction. */
  el(name: string, attributes: Readonly<Record<string, string | number>>, content: Content): Markup
  /** A time of day, for people and for programs. */
  when(time: Date): Markup
  /**
   * A message as markup: its `<b>` and `<code>` are elements, any other `<name>` is what the value of that name makes of its content;
   * texts that stand in it are shown in their own direction. A string without values, be they `{}`, is a text, and not a message.
   */
  rich(words: Words, values?: Readonly<Record<string, RichValue>>): Markup
}

export function createMarkers(language: Language): Markers {
  const el: Markers['el'] = (name, attributes, content) => {
    const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeHtml(value)}"`)
    const inner = content instanceof Markup ? content : bdi(content)
    return new Markup(`<${name}${written.join('')}>${inner.html}</${name}>`)
  }
  const when: Markers['when'] = (time) =>
    el('time', { datetime: time.toISOString() }, new Markup(escapeHtml(language.time(time))))

  function composerOf(values: Readonly<Record<string, RichValue>>): Composer<Markup> {
    const composer: Composer<Markup> = {
      text: (text) => new Markup(escapeHtml(text)),
      value(value) {
        if (value instanceof Markup) return value
        if (value instanceof Date) return when(value)
        if (Array.isArray(value))
          return language.list(
            (value as readonly MessageValue[]).map((one) => composer.value(one)),
            composer,
          )
        if (isMessage(value)) return compose(value.text, value.values)
        return typeof value === 'number' ? new Markup(escapeHtml(value)) : bdi(value as string)
      },
      element(name, content) {
        const own = Object.hasOwn(values, name) ? values[name] : undefined
        if (typeof own === 'function') return own(content)
        const known = ELEMENTS[name]
        if (known === undefined) throw new TypeError(`a message is said without its <${name}>`)
        return el(known, {}, content)
      },
      join: (parts) => new Markup(parts.map(({ html }) => html).join('')),
    }
    return composer
  }

  function compose(text: string, values: Readonly<Record<string, RichValue>>): Markup {
    return language.compose(text, values as MessageValues, composerOf(values))
  }

  return {
    el,
    when,
    rich(words, values) {
      if (isMessage(words)) return compose(words.text, { ...words.values, ...values })
      return values === undefined ? bdi(language.say(words)) : compose(words, values)
    },
  }
}

const ELEMENTS: Readonly<Record<string, string>> = { b: 'strong', code: 'code' }

function bdi(text: string | number): Markup {
  return new Markup(`<bdi>${escapeHtml(text)}</bdi>`)
}
