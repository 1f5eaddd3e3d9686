/** The code that people read on a device and type elsewhere (RFC 8628 §6.1): 34.5 bits, so tries are limited. */
import { randomInt } from 'node:crypto'
import { plainCode } from '../../../../src/protocol/typed-code.ts'

/** No vowels, so that no words come of it, and nothing that looks like a digit. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'
const LENGTH = 8
const USER_CODE = new RegExp(`^[${LETTERS}]{${LENGTH}}$`)
/** What people type for the letter that it looks like. */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  1: 'L',
  2: 'Z',
  5: 'S',
  6: 'G',
  8: 'B',
  I: 'L',
  U: 'V',
}

/** As it is stored: the letters alone. */
export function createUserCode(): string {
  return Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]!).join('')
}

/** As a device shows it. */
export function displayUserCode(userCode: string): string {
  return `${userCode.slice(0, LENGTH / 2)}-${userCode.slice(LENGTH / 2)}`
}

/** What was typed as it is stored, whatever its case, dashes and spaces; null for what cannot be a code. */
export function normalizeUserCode(typed: string): string | null {
  const letters = plainCode(typed)
    .toUpperCase()
    .replaceAll(/[12568IU]/g, (character) => LOOK_ALIKES[character]!)
  return USER_CODE.test(letters) ? letters : null
}
