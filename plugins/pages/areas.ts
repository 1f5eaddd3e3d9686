/** Sections of the areas of pages, such as the account: the links at the top of each of their pages. */
import { ConfigError } from '../../src/config.ts'

/** A section of an area; `text` is what templates call it by (`here`). */
export interface Section {
  readonly text: string
  /** Below the area's own address. */
  readonly path: `/${string}`
}

/** A link at the top of an area's pages. */
export interface AreaLink {
  readonly text: string
  readonly href: string
}

/** Throws for a section whose text or address one of the links has. */
export function addLink(links: AreaLink[], link: AreaLink): void {
  const taken = links.some(({ text, href }) => text === link.text || href === link.href)
  if (taken) throw new ConfigError(`The section ${link.text} (${link.href}) is taken.`)
  links.push(link)
}
