/**
 * The passwords that are used most: 49,233 of them, as zxcvbn-ts ranks them. They are looked for in the file, so that a process
 * holds none of them: a new password is rare, and its hash costs a hundred times more.
 */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'

/** A list of texts in JSON. The package's own entry keeps it in memory, with two more. */
const LIST = createRequire(import.meta.url).resolve('@zxcvbn-ts/language-common/src/passwords.json')
/** Characters of the longest one: generated passwords are longer. */
const LONGEST = 20

/** Whether it is one of them, in capitals or not. */
export async function isCommonPassword(password: string): Promise<boolean> {
  if (password.length > LONGEST) return false
  const list = await readFile(LIST, 'utf8')
  return list.includes(JSON.stringify(password.normalize('NFC').toLowerCase()))
}
