/**
 * `ar-XB`, a language that nobody speaks: English whose words run from right to left, so that whoever builds a page sees what is not
 * in its catalogue, and what does not turn with the direction. Development shows it to who asks for it.
 */

export const PSEUDO = 'ar-XB'

/** Each word between marks that let its letters run from right to left. */
export function pseudo(text: string): string {
  return text.replaceAll(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’_-]*/gu, (word) => `\u{202E}${word}\u{202C}`)
}
