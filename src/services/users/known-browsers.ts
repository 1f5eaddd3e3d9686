/**
 * Which browsers an account has signed in from: each keeps a signed mark of that account, and nothing is stored here. Whose
 * marks they are cannot be read from them. A mark opens nothing; what it spares its browser is for the throttle.
 */
import { randomBytes } from 'node:crypto'
import { usernameKey } from '../../protocol/username.ts'
import type { Database } from '../../store/database.ts'
import { statements } from '../../store/users.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import type { User } from './user.ts'

export interface KnownBrowsers {
  /** The marks of a browser in which `user` has just signed in: a new one of theirs, before those of a few others. */
  remember(marks: string | undefined, user: Pick<User, 'username'>): string
  /**
   * The mark of this account among them, good now: made within `LIFETIME`, and not before what ended all of them, such as
   * a new password. Null where there is none, and for a name that is nobody's, by the same statements.
   */
  find(marks: string | undefined, username: string): Promise<string | null>
}

/** Seconds. */
export const KNOWN_FOR = 180 * 86_400
/** People who share a browser. */
const MAX_MARKS = 5
const SEPARATOR = '~'
/** A number that makes it one of its own, when it was made (milliseconds since the epoch), and the signature of both and the account. */
const MARK = /^([\w-]{22}\.(\d{13}))\.([\w-]+\.[\w-]{43})$/

interface Mark {
  readonly text: string
  readonly signed: string
  readonly madeAt: number
  readonly signature: string
}

/** @internal */
export function createKnownBrowsers(database: Database, box: SecretBox): KnownBrowsers {
  const subject = (signed: string, key: string): string => `known browser\0${signed}\0${key}`

  function findMark(marks: string | undefined, key: string): Mark | undefined {
    return parse(marks).find(({ signed, signature }) => box.matches(subject(signed, key), signature))
  }

  return {
    remember(marks, { username }) {
      const key = usernameKey(username) ?? username
      const signed = `${randomBytes(16).toString('base64url')}.${Date.now()}`
      const former = findMark(marks, key)
      const others = parse(marks).filter(({ text }) => text !== former?.text)
      const all = [`${signed}.${box.hash(subject(signed, key))}`, ...others.map(({ text }) => text)]
      return all.slice(0, MAX_MARKS).join(SEPARATOR)
    },
    async find(marks, username) {
      const key = usernameKey(username)
      const mark = key === null ? undefined : findMark(marks, key)
      if (mark === undefined || mark.madeAt < Date.now() - KNOWN_FOR * 1000) return null
      const [known] = await database.query(statements.knowsBrowsersOf, [key, new Date(mark.madeAt)])
      return known === undefined ? null : mark.signed
    },
  }
}

/** What looks like marks; anybody may have made them. */
function parse(marks: string | undefined): Mark[] {
  const texts = marks === undefined ? [] : marks.split(SEPARATOR, MAX_MARKS)
  return texts.flatMap((text) => {
    const [, signed = '', madeAt, signature = ''] = MARK.exec(text) ?? []
    return madeAt === undefined ? [] : [{ text, signed, madeAt: Number(madeAt), signature }]
  })
}
