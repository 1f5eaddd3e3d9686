/** What a page in the pseudo-language shows as it is: words that no message says. */

/** Whatever people themselves chose, and what is for programs, stands in these. */
const OWN = /<(bdi|code|script|style|time)\b[^>]*>.*?<\/\1>/gs
/** Attributes that people read, or hear; scripts read theirs from data. */
const READ =
  /\s(?:aria-label|placeholder|alt|title|data-(?!options|origin|signals|unknown)[a-z-]+)="([^"]*)"/g
const PSEUDO = /\u{202E}[^\u{202C}]*\u{202C}/gu
/** As labels have them; pages have them in elements. */
const INSTANT = /\d{1,2} [A-Z][a-z]+ \d{4} at \d\d:\d\d UTC/g
const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
}

/** `known` are texts of the model, which a label may hold. */
export function unsaidIn(html: string, known: readonly string[]): string[] {
  const shown = html
    .replaceAll(/<code\b[^>]*>[^<]*<\/code>/g, '')
    .replaceAll(OWN, (whole) => (whole.startsWith('<script') ? whole.replace(/>.*/s, '>') : ''))
  const texts = shown.split(/<[^>]*>/)
  const labels = [...shown.matchAll(READ)].map(([, label = '']) => label)
  return [...texts, ...labels]
    .map((text) => text.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity]!))
    .map((text) => text.replaceAll(INSTANT, ''))
    .map((text) => known.reduce((rest, one) => rest.replaceAll(one, ''), text.replaceAll(PSEUDO, '')).trim())
    .filter((rest) => /\p{L}/u.test(rest))
}

/** Every text of a model, the longest first. */
export function textsIn(value: unknown): string[] {
  const all = (one: unknown): string[] => {
    if (typeof one === 'string' || typeof one === 'number') return [String(one)]
    return typeof one === 'object' && one !== null ? Object.values(one).flatMap(all) : []
  }
  return all(value)
    .filter((text) => text !== '')
    .toSorted((a, b) => b.length - a.length)
}
