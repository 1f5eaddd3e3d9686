/** Where a plugin keeps what it must remember. */
import type { NewEvent } from '../events.ts'
import type { Bag } from '../protocol/bag.ts'

export interface ArtifactOptions<Value extends object = Bag> {
  /** Seconds that each lives, unless `put` says otherwise. */
  readonly lifetime: number
  /**
   * Whether owners are users, by their ids: then what is theirs is deleted with them and stands in their export, and nothing is
   * stored for who is not there. Default false: owners are in the plugin's own words.
   */
  readonly ofUsers?: boolean
  /** What the export of a user says of one; by default nothing but that it is there, since many hold a secret. */
  describe?(value: Value): Bag
}

export interface PutOptions {
  /** 256 random bits by default. */
  readonly handle?: string | undefined
  /** Seconds; by default the kind's. */
  readonly lifetime?: number | undefined
  /** Whose it is, for `list`. */
  readonly owner?: string | undefined
  /** How many of the kind one owner has at most, 1 to 1000, by default 100: those with the least time left give way. */
  readonly most?: number | undefined
}

export interface ListedArtifact<Value extends object = Bag> {
  /** Names it for `delete` alone: the handle is not stored. */
  readonly id: string
  readonly value: Value
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

/**
 * Stored things of a plugin's own, as JSON: their handles are hashed at rest, they are gone when they expire, replaced by
 * compare-and-set and spent once, over all processes. What each call throws while the database does not answer becomes 503.
 */
export interface Artifacts<Value extends object = Bag> {
  /**
   * Stores `value`, and answers with its handle. False where that is taken, also by one that was spent and has not expired,
   * and where its owner is a user who is not there.
   */
  put(
    value: Value,
    options?: PutOptions & { readonly handle?: undefined; readonly owner?: undefined },
  ): Promise<string>
  put(value: Value, options: PutOptions): Promise<string | false>
  /** Null when it is not there, has expired or was spent. */
  get(handle: string): Promise<Value | null>
  /**
   * False when `from` is no longer what is stored. Owner and lifetime stay. `event` is noted in the same transaction, with what goes with it
   * (`enqueueOn`), and not where nothing is replaced.
   */
  replace(handle: string, from: Value, to: Value, event?: NewEvent): Promise<boolean>
  /** Uses it up: of all who ask, in any process, one gets its value, and the others null. */
  spend(handle: string): Promise<Value | null>
  /** Forgets it, by its handle or as it was listed; false when there is none. One that was spent stays so. */
  delete(which: string | Pick<ListedArtifact, 'id'>): Promise<boolean>
  /** Of one owner, in the order of their ids behind `after`, at most `limit`: 1 to 100, the default. */
  list(owner: string, page?: { after?: string; limit?: number }): Promise<ListedArtifact<Value>[]>
}
