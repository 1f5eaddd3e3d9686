/** Whether somebody is the user they say: by their password. How often one may try is for the throttle. */
import type { FastifyBaseLogger } from 'fastify'
import { usernameKey } from '../../protocol/username.ts'
import { NIL } from '../../protocol/uuid.ts'
import type { Database } from '../../store/database.ts'
import { statements, type UserRow } from '../../store/users.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { Passwords } from './passwords.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import { findRow, findRowByName, findRowToSignIn } from './user-finder.ts'
import { toUser, type User } from './user.ts'

/**
 * Who somebody says they are, before it is proven.
 * @internal
 */
export interface Candidate {
  /** Of whose browsers it is asked whether they are known: who it is, or nobody, where that was looked up, and else what was typed. */
  readonly whom: Pick<User, 'id' | 'username'> | string
  /**
   * As `UserAuthentication.authenticate`. Where the password is none of ours, `elsewhere` is asked: what it answers is the answer, and null is a
   * failed sign-in as any other.
   */
  authenticate(password: string): Promise<User | null>
  authenticate<T extends object>(
    password: string,
    elsewhere: () => Promise<T | null>,
  ): Promise<User | T | null>
}

export interface UserAuthentication {
  /**
   * @internal Who is meant by what was typed as a name; by one statement with what follows, whether there is anybody or not. Who was found is
   * meant whatever they are called by then, and whoever signs in by that.
   */
  candidate(meant: Candidate['whom']): Promise<Candidate>
  /**
   * The user, proven, by their user name or verified email address. Null for an unknown one, a wrong password, a disabled one and one without a password: the same
   * answer in the same time. Throws `temporarily_unavailable` (503) when too many ask at once.
   */
  authenticate(username: string, password: string): Promise<User | null>
  /** Whether the user has a password at all. */
  canSignInByPassword(username: string): Promise<boolean>
  /** Whether `password` is the user's now, disabled or not. */
  hasPassword(username: string, password: string): Promise<boolean>
}

/** @internal */
export interface UserAuthenticationOptions {
  database: Database
  audit: AuditTrail
  box: SecretBox
  passwords: Passwords
  log: FastifyBaseLogger
}

/** @internal */
export function createUserAuthentication({
  database,
  audit,
  box,
  passwords,
  log,
}: UserAuthenticationOptions): UserAuthentication {
  /** Of an unknown one by a keyed hash, which is made for each so that each takes the same time. */
  function observeFailure(username: string, row: UserRow | undefined): void {
    const account = box.hash(`audited user\0${usernameKey(username) ?? ''}`)
    const details = row === undefined ? { account } : {}
    audit.observe({ type: 'user.sign_in_failed', user: row?.id, details })
  }

  /** Behind the request: losing it costs nothing, the next sign-in does it again. */
  async function rehash({ id, passwordHash: former }: UserRow, password: string): Promise<void> {
    if (former === null || former === undefined || !passwords.isOutdated(former)) return
    try {
      await database.query(statements.rehash, [id, former, await passwords.hash(password)])
    } catch (error) {
      log.warn({ err: error }, 'a password could not be hashed anew yet')
    }
  }

  /** An address is looked up before guesses are counted, since a browser is known by the account. A user name says by itself whose it is. */
  async function lookUp(meant: Candidate['whom']): Promise<{ row: UserRow | undefined } | undefined> {
    if (typeof meant !== 'string') return { row: await findRow(database, meant) }
    return meant.includes('@') ? { row: await findRowToSignIn(database, meant) } : undefined
  }

  async function candidate(meant: Candidate['whom']): Promise<Candidate> {
    const typed = typeof meant === 'string' ? meant : meant.username
    const found = await lookUp(meant)
    return {
      whom: found === undefined ? typed : (found.row ?? { id: NIL, username: typed }),
      async authenticate<T extends object>(password: string, elsewhere?: () => Promise<T | null>) {
        const row = found === undefined ? await findRowByName(database, typed) : found.row
        const proven = await passwords.verify(password, row?.passwordHash ?? null)
        if (!proven || row === undefined || row.disabledAt) {
          const other = (await elsewhere?.()) ?? null
          if (other === null) observeFailure(typed, row)
          return other
        }
        void rehash(row, password)
        return toUser(row)
      },
    }
  }

  return {
    candidate,
    authenticate: async (username, password) => (await candidate(username)).authenticate(password),
    async canSignInByPassword(username) {
      return typeof (await findRowByName(database, username))?.passwordHash === 'string'
    },
    async hasPassword(username, password) {
      return passwords.verify(password, (await findRowByName(database, username))?.passwordHash ?? null)
    },
  }
}
