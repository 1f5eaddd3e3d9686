/** The languages and time zones that people choose from, for what is kept as the claims `locale` and `zoneinfo`. */
import type { Words } from '../../src/protocol/message.ts'

export interface Choice {
  value: string
  text: Words
  /** Of a text in a language of its own; null for that of the page. */
  lang: string | null
}

/** The languages of the server and none; and the one that was chosen elsewhere, in whatever form. */
export function languageChoices(tags: readonly string[], none: Words, chosen: string): Choice[] {
  const values = tags.includes(chosen) || chosen === '' ? tags : [...tags, chosen]
  const named = values.map((value) => {
    const name = nameOf(value)
    return { value, text: name ?? value, lang: name === undefined ? null : tagOf(value) }
  })
  return [{ value: '', text: none, lang: null }, ...named]
}

/** As who speaks it calls it; undefined for what names none. */
function nameOf(value: string): string | undefined {
  const tag = tagOf(value)
  try {
    const names = new Intl.DisplayNames([tag], {
      type: 'language',
      languageDisplay: 'standard',
      fallback: 'none',
    })
    const name = names.of(tag)
    return name && `${name.charAt(0).toLocaleUpperCase(tag)}${name.slice(1)}`
  } catch {
    return undefined
  }
}

/** `de-AT` for `de_AT`, as other systems write it. */
function tagOf(value: string): string {
  return value.replaceAll('_', '-')
}

/** What Node calls by a name that the place has not any more, or has never had, by that of the tz database today. */
const TODAY: ReadonlyMap<string, string> = new Map([
  ['Africa/Asmera', 'Africa/Asmara'],
  ['America/Buenos_Aires', 'America/Argentina/Buenos_Aires'],
  ['America/Coral_Harbour', 'America/Atikokan'],
  ['America/Godthab', 'America/Nuuk'],
  ['Asia/Calcutta', 'Asia/Kolkata'],
  ['Asia/Katmandu', 'Asia/Kathmandu'],
  ['Asia/Rangoon', 'Asia/Yangon'],
  ['Asia/Saigon', 'Asia/Ho_Chi_Minh'],
  ['Atlantic/Faeroe', 'Atlantic/Faroe'],
  ['Europe/Kiev', 'Europe/Kyiv'],
  ['Pacific/Enderbury', 'Pacific/Kanton'],
  ['Pacific/Ponape', 'Pacific/Pohnpei'],
  ['Pacific/Truk', 'Pacific/Chuuk'],
])

let zones: readonly Choice[] | undefined

/** Those that this Node knows. */
export function zoneChoices(): readonly Choice[] {
  zones ??= [...Intl.supportedValuesOf('timeZone'), 'UTC']
    .map((zone) => TODAY.get(zone) ?? zone)
    .filter((zone, at, all) => isZone(zone) && all.indexOf(zone) === at)
    .toSorted()
    .map((zone) => ({ value: zone, text: zone, lang: null }))
  return zones
}

export function isZone(zone: string): boolean {
  return isKnown(() => new Intl.DateTimeFormat('en', { timeZone: zone }))
}

/** Whether it is a language tag, whoever speaks it. */
export function isLanguage(tag: string): boolean {
  return isKnown(() => Intl.getCanonicalLocales(tag))
}

function isKnown(look: () => unknown): boolean {
  try {
    look()
    return true
  } catch {
    return false
  }
}
