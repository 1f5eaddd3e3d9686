/** How text of somebody else's is written on a terminal. */

/** In quotation marks; what would move the cursor, or turn the line around, is written by its number. */
export function quote(text: string): string {
  return JSON.stringify(text).replaceAll(/\p{C}/gu, (one) => `\\u{${one.codePointAt(0)!.toString(16)}}`)
}
