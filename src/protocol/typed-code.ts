/** Codes of digits and Latin letters, as people type them: by any keyboard, in groups or not. */

/** With the digits and letters of ASCII where the same were typed otherwise (`１２３`, `١٢٣`), and without spaces and dashes. */
export function plainCode(typed: string): string {
  return typed
    .normalize('NFKC')
    .replaceAll(/[\s\p{Pd}]/gu, '')
    .replaceAll(/(?![0-9])\p{Nd}/gu, (digit) => String(digitOf(digit.codePointAt(0)!)))
}

/** Null for what is not six digits. */
export function sixDigits(typed: string): string | null {
  const code = plainCode(typed)
  return /^\d{6}$/.test(code) ? code : null
}

/** The digits of a script stand in a row from zero to nine, and where rows touch, the next begins (The Unicode Standard §4.6). */
function digitOf(point: number): number {
  let before = 0
  while (/^\p{Nd}$/u.test(String.fromCodePoint(point - before - 1))) before++
  return before % 10
}
