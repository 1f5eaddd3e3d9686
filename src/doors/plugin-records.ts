/** What plugins keep that belongs to no user and does not expire: an organisation, with its name and its rules. */
import type { NewEvent } from '../events.ts'
import type { Bag } from '../protocol/bag.ts'

export interface PluginRecord<Value extends object = Bag> {
  /** The plugin's own, among the records of its kind. */
  readonly id: string
  readonly value: Value
  /** For `replace`. */
  readonly revision: number
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly updatedAt: number
}

export interface PluginRecordOptions<Value extends object = Bag> {
  /** Whether values are encrypted at rest under SECRET_KEY; ids and keys never are. Default false. */
  readonly sealed?: boolean
  /**
   * Another name by which a record is found, as an organisation by its domain: of its kind it alone has it. Undefined for none. The
   * same for the same value; compared letter by letter, so let it write alike what is alike.
   */
  key?(value: Value): string | undefined
  /** How many of the kind there are at most, 1 to 100,000, so that nobody fills the database; by default 10,000. */
  readonly most?: number
}

/** Which records, in the order of their ids. */
export interface PluginRecordPage {
  /** The id behind which it begins. */
  readonly after?: string
  /** 1 to 100, the default. */
  readonly limit?: number
}

/**
 * Records of one kind, each under an id of 1 to 200 characters, with a value of 32 KiB of JSON at most. All processes see a change at
 * once: each call asks the database, and what it throws while that does not answer becomes 503. `event` of each change is noted in its
 * own transaction, and not where nothing changes. Throws `TypeError` for an id, a key or a value that cannot be stored.
 * A sealed value that no SECRET_KEY fits any more throws where it is read, and thrown on becomes a refusal that says so.
 */
export interface PluginRecords<Value extends object = Bag> {
  get(id: string): Promise<PluginRecord<Value> | null>
  /** By its key. Throws where the kind has none. */
  find(key: string): Promise<PluginRecord<Value> | null>
  list(page?: PluginRecordPage): Promise<PluginRecord<Value>[]>
  /** False where the id or the key is taken. Throws `OAuthError` (`invalid_request`) where there are as many as there may be. */
  put(id: string, value: Value, event?: NewEvent): Promise<boolean>
  /**
   * False where it is no longer what was read, so that of two who replace one revision one does; and where the key of what it shall be
   * is another's, which `find` tells.
   */
  replace(record: Pick<PluginRecord, 'id' | 'revision'>, value: Value, event?: NewEvent): Promise<boolean>
  /** False where there was none. */
  delete(id: string, event?: NewEvent): Promise<boolean>
}

/**
 * Records of one `kind`, a plugin's own; declared while the server starts. Throws `ConfigError` for a kind that is taken, for
 * options that are none, and once the server is ready.
 */
export type OpenPluginRecords = <Value extends object = Bag>(
  kind: string,
  options?: PluginRecordOptions<Value>,
) => PluginRecords<Value>
