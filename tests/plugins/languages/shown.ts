/** What pages of a server show in the pseudo-language: nothing of it in English. */
import { expect } from 'vitest'
import type { Page } from '../../support/user-agent.ts'
import { unsaidIn } from './unsaid.ts'

/** Of a browser that reads the pseudo-language. */
export const PSEUDO_HEADERS = { 'accept-language': 'ar-XB' }

/** Of what the layout has on every page, it is known here. */
const EVERYWHERE = ['Latchkey', 'localhost', '127.0.0.1']

/**
 * Expects that a page, its title included, or the part of it that `only` begins, as `<section id="x"`, says all of its words by messages;
 * `known` is what people chose themselves.
 */
export function expectSaid(
  { body, headers, status }: Page,
  known: readonly string[] = [],
  only?: string,
): void {
  expect([headers.get('content-language'), status < 500]).toEqual(['ar-XB', true])
  const [, title = ''] = /<title>([^<]*)<\/title>/.exec(body) ?? []
  const shown = only === undefined ? `${title}${contentOf(body, '<main')}` : contentOf(body, only)
  expect(unsaidIn(shown, [...known, ...EVERYWHERE])).toEqual([])
}

/** The element that begins so, up to the first end of one of its name: it holds none of these. */
function contentOf(body: string, opening: string): string {
  const from = body.indexOf(opening)
  expect([opening, from]).not.toEqual([opening, -1])
  const name = /^<(\w+)/.exec(opening)?.[1] ?? ''
  return body.slice(from, body.indexOf(`</${name}>`, from))
}
