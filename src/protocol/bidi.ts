/** Text that others chose, beside ours: it must not turn that around, nor itself into something else (Unicode Standard Annex #9). */

/** Embeddings, overrides and isolates, and what ends them: what is shown in its own direction anyway needs none. */
const CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g
/** What is written from right to left, or says that it is (§3.2: R, AL, and the marks). */
const RIGHT_TO_LEFT =
  /[\u0590-\u08ff\u200f\u061c\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u
const [FIRST_STRONG_ISOLATE, POP_ISOLATE] = ['\u2068', '\u2069']
/** Elements whose text others chose: `<bdi>` isolates it, but for a character that ends an isolate. */
const ISOLATING = /<(bdi|title)>[^<]*<\/\1>/g

/** As it stands in plain text of this direction: isolated where it might not keep to itself (§2.4). */
export function isolated(text: string, direction: 'ltr' | 'rtl'): string {
  const plain = text.replaceAll(CONTROLS, '')
  return direction === 'ltr' && !RIGHT_TO_LEFT.test(plain)
    ? plain
    : `${FIRST_STRONG_ISOLATE}${plain}${POP_ISOLATE}`
}

/** The page without what in a name would reach beyond its `<bdi>`. What is in fields stays as it is. */
export function withoutControls(html: string): string {
  if (html.search(CONTROLS) === -1) return html
  return html.replaceAll(ISOLATING, (element) => element.replaceAll(CONTROLS, ''))
}
