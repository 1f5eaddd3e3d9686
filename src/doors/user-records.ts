/** What plugins keep of a user: listed for its owner, exported and deleted with the user. */
import type { NewEvent } from '../events.ts'
import type { Bag } from '../protocol/bag.ts'
import type { User } from './user.ts'

export interface UserRecord<Value extends object = Bag> {
  /** The plugin's own, among the records of its kind and user. */
  readonly id: string
  readonly value: Value
  /** For `replace`. */
  readonly revision: number
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly updatedAt: number
}

export interface RecordOptions<Value extends object = Bag> {
  /** Whether values are encrypted at rest under SECRET_KEY, as a secret that is compared must be; default false. */
  readonly sealed?: boolean
  /** Whether one user at most may have a record of an id, so that `owner` finds them by it; default false. */
  readonly unique?: boolean
  /**
   * Whether each record is a way to sign in by itself, as a passkey is; default false. `delete` then refuses the last way that a user
   * has, a password counting as one, whoever else deletes another at the same moment. A function says it of each record: one that
   * leads nowhere now, as a link to a provider that is gone, is no way in, and may go at any time. It is asked in a transaction, and
   * is to know the answer without another query.
   */
  readonly signsIn?: boolean | ((value: Value) => boolean | Promise<boolean>)
  /**
   * Whether each record belongs to a factor beside the first; default false. Who has some is known in memory (`has`), and an administrator
   * takes them from who has lost theirs (`oauth.users.resetFactors`). `'spare'` is for what stands in for a factor, as recovery codes do:
   * it goes with the others, and who has nothing else has no factor.
   */
  readonly factor?: boolean | 'spare'
  /** How many a user has at most, whoever else adds one at the same moment, 1 to 100; by default any number. */
  readonly most?: number
  /** What the export of a user says of a record. By default all of it, and of sealed ones nothing but that they are there. */
  describe?(value: Value): Bag
}

/**
 * `event` of each change is noted in its own transaction, and not where nothing changes. Reading a sealed value that no SECRET_KEY fits
 * any more throws: thrown on, people are told that it cannot be read, and the log says which key is missing of what. `has` and `delete`
 * read none.
 */
export interface UserRecords<Value extends object = Bag> {
  /** The oldest first. */
  list(userId: string): Promise<UserRecord<Value>[]>
  get(userId: string, id: string): Promise<UserRecord<Value> | null>
  /**
   * False where the id is taken, by another user where ids are unique, or there is no such user. Throws `OAuthError` (`invalid_request`)
   * where the user has as many as they may (`most`). Where there is a `most`, `unless` may say of what the user has of the kind that nothing
   * is stored, whoever else adds one at the same moment: false then, too.
   */
  put(
    userId: string,
    id: string,
    value: Value,
    event?: NewEvent,
    unless?: (kept: readonly Value[]) => boolean,
  ): Promise<boolean>
  /**
   * Registers a user (`members` as of `users.create`) with this record, by which they sign in: both, or neither. Null where the id is
   * taken. Throws as `users.create`.
   */
  register(members: Bag, id: string, value: Value, event?: (userId: string) => NewEvent): Promise<User | null>
  /** False where it is no longer what was read: of two who replace one revision, one does. */
  replace(
    userId: string,
    record: Pick<UserRecord, 'id' | 'revision'>,
    value: Value,
    event?: NewEvent,
  ): Promise<boolean>
  /** False where there was none. Throws `OAuthError` (`invalid_request`) for the last way in (`signsIn`). */
  delete(userId: string, id: string, event?: NewEvent): Promise<boolean>
  /** Whether the user has any; from memory, two seconds old at most. Throws where the kind is no `factor`. */
  has(userId: string): Promise<boolean>
  /** Who has the record of this id; null where nobody has. Throws where ids are not unique. */
  owner(id: string): Promise<string | null>
}
