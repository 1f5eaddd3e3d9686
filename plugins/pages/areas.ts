/** Sections of the areas of pages, such as the account: the links on each of their pages. */
import { ConfigError } from '../../src/config.ts'
import { either, TEXT, type Member, type Shape } from '../../src/doors/shapes.ts'
import { inEnglish, isMessage, type Words } from '../../src/protocol/message.ts'

/** A section of an area; the English of `text` is what templates call it by (`here`). */
export interface Section {
  readonly text: Words
  /** Below the area's own address. */
  readonly path: `/${string}`
}

export const WORDS: Member = either(TEXT, { is: isMessage, words: 'a message' })
export const SECTION: Shape<Section> = {
  text: WORDS,
  path: {
    is: (path) => typeof path === 'string' && /^\/./.test(path),
    words: "below that of its area, as '/vouchers'",
  },
}

/** A link on an area's pages. */
export interface AreaLink {
  readonly text: Words
  readonly href: string
  /** The name of what it stands among; null for none. */
  readonly group: Words | null
}

/** Puts it behind those of its group. Throws for a section whose text or address one of the links has. */
export function addLink(links: AreaLink[], link: AreaLink): void {
  const name = inEnglish(link.text)
  const taken = links.some(({ text, href }) => inEnglish(text) === name || href === link.href)
  if (taken) throw new ConfigError(`The section ${name} (${link.href}) is taken.`)
  const last = links.findLastIndex(({ group }) => group === link.group)
  links.splice(last === -1 ? links.length : last + 1, 0, link)
}
