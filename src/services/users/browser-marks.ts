/**
 * Marks that a browser keeps, each of one account and signed, for a few people who share it: what a mark says, and how many there are. Whose
 * they are cannot be read from them, and nothing is stored here.
 */
import { randomBytes } from 'node:crypto'
import type { SecretBox } from '../keys/secret-box.ts'

/** @internal */
export interface Mark {
  /** What was signed beside the account: it makes the mark one of its own. */
  readonly signed: string
  /** Milliseconds since the epoch. */
  readonly madeAt: number
}

/** @internal */
export interface BrowserMarks {
  /** A new one of the account, before those of a few others. `former` is what the account was called by here before. */
  add(marks: string | undefined, account: string, former?: string): string
  /** The one of the account; undefined where there is none. */
  find(marks: string | undefined, account: string, former?: string): Mark | undefined
}

/** People who share a browser. */
const MAX_MARKS = 5
const SEPARATOR = '~'
/** A number that makes it one of its own, when it was made (milliseconds since the epoch), and the signature of both and the account. */
const MARK = /^([\w-]{22}\.(\d{13}))\.([\w-]+\.[\w-]{43})$/

interface Read extends Mark {
  readonly text: string
  readonly signature: string
}

/**
 * Of one `kind`: a mark of another is none.
 * @internal
 */
export function createBrowserMarks(kind: string, box: SecretBox): BrowserMarks {
  const subjectOf = (signed: string, account: string): string => `${kind}\0${signed}\0${account}`
  const isOf = ({ signed, signature }: Read, account: string, former = account): boolean =>
    box.matches(subjectOf(signed, account), signature) || box.matches(subjectOf(signed, former), signature)

  return {
    add(marks, account, former) {
      const signed = `${randomBytes(16).toString('base64url')}.${Date.now()}`
      const others = read(marks).filter((mark) => !isOf(mark, account, former))
      const all = [`${signed}.${box.hash(subjectOf(signed, account))}`, ...others.map(({ text }) => text)]
      return all.slice(0, MAX_MARKS).join(SEPARATOR)
    },
    find: (marks, account, former) => read(marks).find((mark) => isOf(mark, account, former)),
  }
}

/** What looks like marks; anybody may have made them. */
function read(marks: string | undefined): Read[] {
  return (marks?.split(SEPARATOR, MAX_MARKS) ?? []).flatMap((text) => {
    const [, signed = '', madeAt, signature = ''] = MARK.exec(text) ?? []
    return madeAt === undefined ? [] : [{ text, signed, madeAt: Number(madeAt), signature }]
  })
}
