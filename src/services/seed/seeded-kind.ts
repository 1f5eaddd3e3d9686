/** What SEED_FILE says of things, and what a kind of thing has to know to be applied by `seed-section.ts`. */
import type { SeedKind } from '../../entities/seed-entry.ts'
import type { Query } from '../../store/statement.ts'
import type { Note } from '../audit/audit.ts'

/** What the file says of one thing: members, null for one to be without. */
export interface Wanted {
  readonly key: string
  /** Where the file says it, in words for people. */
  readonly place: string
  readonly members: Readonly<Record<string, unknown>>
}

/** What is to become of one thing. */
export interface Change<Row> {
  readonly wanted: Wanted
  /** As it is; undefined where there is none. */
  readonly row: Row | undefined
  /** Those members that the file says otherwise than before; all of a thing that is not there. */
  readonly members: Readonly<Record<string, unknown>>
  /** Of its new secret, where there is one, and it is not the one that it has. */
  readonly hash?: string | undefined
}

/** A member that is stored as a hash, which takes its time. */
export interface SecretMember<Row> {
  readonly name: string
  /** The hash to store; undefined where the value is the one that the thing has. Throws `OAuthError`. */
  hash(value: unknown, row: Row | undefined, wanted: Wanted): Promise<string | undefined>
  /** Whether what the thing has ends by what the file says of its other members: then that of the file is stored again. */
  ends?(row: Row, wanted: Wanted): boolean
}

export interface SeededKind<Row, Made> {
  readonly kind: SeedKind
  readonly section: string
  readonly secret?: SecretMember<Row>
  /** Whether it may become that, `hash` included: as long as whoever is asked takes. Throws `OAuthError`. */
  check?(change: Change<Row>): Promise<void>
  /** What the hash and the check are found out for: while it is the same, so are they. */
  basis?(change: Change<Row>): string
  /** Members of what is there that stay as they are, where it is not known whether the file said them before. */
  kept?(row: Row): readonly string[]
  /** Members that are sets: in another order they say the same. */
  readonly unordered?: readonly string[]
  /** When it was registered. */
  since?(row: Row): Date
  /** Which of the keys are there. */
  present(keys: readonly string[]): Promise<readonly { key: string }[]>
  /** What is there, until the end of the transaction. */
  lock(query: Query, wanted: readonly Wanted[]): Promise<ReadonlyMap<string, Row>>
  /** What is to be stored; undefined where that is what is there. Throws `OAuthError`. */
  make(change: Change<Row>): Made | undefined
  /** Stores it, and returns the keys by which the change feed names what changed. */
  store(query: Query, note: Note, made: readonly Made[]): Promise<readonly string[]>
}

/** A thing that is named twice is one: the later members lie over the earlier. */
export function merged(wanted: readonly Wanted[]): Wanted[] {
  const byKey = new Map<string, Wanted>()
  for (const one of wanted) {
    const { members } = byKey.get(one.key) ?? {}
    byKey.set(one.key, { ...one, members: { ...members, ...one.members } })
  }
  return [...byKey.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1))
}
