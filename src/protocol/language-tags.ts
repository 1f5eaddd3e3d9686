/** Language tags (BCP 47): which are asked for, and which of those that there are fits best. */

/** By preference, as `ui_locales` has them (OpenID Connect Core §3.1.2.1): with spaces between. */
export function tagsIn(text: string): string[] {
  return text.split(' ').filter(isTag)
}

/** By preference, as a browser's Accept-Language has them (RFC 9110 §12.5.4). */
export function acceptedTags(header: string): string[] {
  return header
    .slice(0, LONGEST)
    .split(',')
    .map((range) => {
      const [tag = '', ...parameters] = range.split(';').map((part) => part.trim())
      const quality = parameters.find((one) => /^q=/i.test(one))?.slice(2)
      return { tag, quality: quality === undefined ? 1 : Number(quality) }
    })
    .filter(({ tag, quality }) => quality > 0 && isTag(tag))
    .toSorted((a, b) => b.quality - a.quality)
    .map(({ tag }) => tag)
}

/** The first that there is, or that is there without its last parts (RFC 4647 §3.4): `de` for `de-CH`. */
export function lookUp(asked: readonly string[], available: Iterable<string>): string | undefined {
  const known = new Map([...available].map((tag) => [tag.toLowerCase(), tag]))
  for (const tag of asked) {
    const parts = tag.toLowerCase().split('-')
    for (; parts.length > 0; parts.pop()) {
      const found = known.get(parts.join('-'))
      if (found !== undefined) return found
    }
  }
  return undefined
}

export function isTag(text: string): boolean {
  return /^[a-z]{2,8}(?:-[a-z\d]{1,8})*$/i.test(text) && text.length <= LONGEST_TAG
}

/** Characters. No person reads more languages than these hold. */
const LONGEST = 1000
const LONGEST_TAG = 35
