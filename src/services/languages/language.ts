/** One language, as it is spoken to somebody: messages, lists, and instants in their time zone. */
import {
  parse,
  TYPE,
  type MessageFormatElement,
  type PluralElement,
} from '@formatjs/icu-messageformat-parser'
import { isMessage, type MessageValue, type Words } from '../../protocol/message.ts'

/** What `compose` makes of the parts of a message, such as markup. */
export interface Composer<Part> {
  /** What the message itself says. */
  text(text: string): Part
  /** A value that stands in it. */
  value(value: MessageValue | Part): Part
  /** What the message has between `<name>` and `</name>`. */
  element(name: string, content: Part): Part
  join(parts: readonly Part[]): Part
}

export interface Language {
  /** BCP 47. */
  readonly tag: string
  readonly direction: 'ltr' | 'rtl'
  /** Whether instants are said in a time zone that somebody has chosen, and not in UTC for want of one. */
  readonly inTheirZone: boolean
  /** As plain text. A string that no catalogue has is said as it is. */
  say(words: Words): string
  /** A message of parts; values may be some, too. */
  compose<Part>(
    text: string,
    values: Readonly<Record<string, MessageValue | Part>>,
    composer: Composer<Part>,
  ): Part
  /** With what stands between its members, such as `a, b and c`. */
  list<Part>(members: readonly Part[], composer: Composer<Part>): Part
  /** Such as `21 November 2026 at 16:30 UTC`. */
  time(time: Date): string
}

export interface LanguageOptions {
  readonly tag: string
  /** Of dates and numbers; it need not be that of the catalogue. */
  readonly region: string
  /** IANA. Null for UTC. */
  readonly zone: string | null
  /** The message in this language; undefined for one that the catalogue has not. */
  readonly find: (text: string) => string | undefined
  /** What becomes of what messages say, without their values. */
  readonly shape?: (text: string) => string
  /** What was parsed of the catalogue before, for all who read it. */
  readonly parsed?: Parsed
}

/** Messages by their English. */
export type Parsed = Map<string, readonly object[]>

const INSTANT: Intl.DateTimeFormatOptions = {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
}
const RIGHT_TO_LEFT = new Set(['ar', 'fa', 'he', 'ur', 'ps', 'dv', 'yi', 'sd', 'ug', 'ckb'])
/** Without one of these, a message is what it says. */
const SYNTAX = /[{<']/

export function createLanguage(options: LanguageOptions): Language {
  const {
    tag,
    region,
    zone,
    find,
    shape = (text) => text,
    parsed = new Map<string, readonly object[]>(),
  } = options
  const dates = whenUsed(() => new Intl.DateTimeFormat(region, { ...INSTANT, timeZone: zone ?? 'UTC' }))
  const lists = whenUsed(() => new Intl.ListFormat(region, { type: 'conjunction' }))
  const numbers = whenUsed(() => new Intl.NumberFormat(region))
  const plurals = whenUsed(() => new Intl.PluralRules(region))
  const time = (at: Date): string => dates().format(at)

  function elementsOf(text: string): readonly MessageFormatElement[] {
    const known = parsed.get(text) ?? parse(find(text) ?? text)
    parsed.set(text, known)
    return known as readonly MessageFormatElement[]
  }

  const list: Language['list'] = (members, composer) =>
    composer.join(
      lists()
        .formatToParts(members.map((_one, at) => String(at)))
        .map(({ type, value }) =>
          type === 'element' ? members[Number(value)]! : composer.text(shape(value)),
        ),
    )

  function compose<Part>(
    text: string,
    values: Readonly<Record<string, MessageValue | Part>>,
    composer: Composer<Part>,
  ): Part {
    function valueOf(name: string): MessageValue | Part {
      if (!Object.hasOwn(values, name)) throw new TypeError(`“${text}” is said without its {${name}}`)
      return values[name]!
    }
    const partsOf = (elements: readonly MessageFormatElement[], count?: number): Part =>
      composer.join(elements.map((element) => partOf(element, count)))

    function partOf(element: MessageFormatElement, count?: number): Part {
      switch (element.type) {
        case TYPE.literal:
          return composer.text(shape(element.value))
        case TYPE.argument:
          return composer.value(valueOf(element.value))
        case TYPE.number:
          return composer.text(numbers().format(Number(valueOf(element.value))))
        case TYPE.pound:
          return composer.text(numbers().format(count ?? 0))
        case TYPE.tag:
          return composer.element(element.value, partsOf(element.children, count))
        case TYPE.select: {
          const key = valueOf(element.value) as string
          const chosen = element.options[Object.hasOwn(element.options, key) ? key : 'other']
          return partsOf(chosen!.value, count)
        }
        case TYPE.plural: {
          const number = Number(valueOf(element.value))
          return partsOf(formOf(element, number, plurals()), number - element.offset)
        }
        default:
          throw new TypeError(`“${text}” has a format that messages have not; a date is said by its {name}`)
      }
    }
    const found = find(text) ?? text
    return SYNTAX.test(found) ? partsOf(elementsOf(text)) : composer.text(shape(found))
  }

  const plain: Composer<string> = {
    text: (text) => text,
    value: sayValue,
    element: (_name, content) => content,
    join: (parts) => parts.join(''),
  }

  function sayValue(value: MessageValue): string {
    if (value instanceof Date) return time(value)
    if (Array.isArray(value)) return list((value as readonly MessageValue[]).map(sayValue), plain)
    if (isMessage(value)) return compose(value.text, value.values, plain)
    return `${value as string | number}`
  }

  const sayOnly = (text: string): string | undefined =>
    find(text) === undefined ? undefined : compose(text, {}, plain)

  return {
    tag,
    direction: RIGHT_TO_LEFT.has(tag.split('-', 1)[0]!) ? 'rtl' : 'ltr',
    inTheirZone: zone !== null,
    say: (words) => (typeof words === 'string' ? (sayOnly(words) ?? shape(words)) : sayValue(words)),
    compose,
    list,
    time,
  }
}

/** What is said of so many. */
function formOf(
  { options, offset }: PluralElement,
  count: number,
  plurals: Intl.PluralRules,
): MessageFormatElement[] {
  const exact = options[`=${count}`]
  const form = plurals.select(count - offset)
  return (exact ?? options[form] ?? options['other'])!.value
}

/** Formats read much of ICU's data: a start that says nothing needs none of it. */
function whenUsed<Format>(make: () => Format): () => Format {
  let made: Format | undefined
  return () => (made ??= make())
}
