/**
 * Applies some entries of a section: each with what is remembered of it in one transaction. What has to be hashed or asked for
 * is so before, outside of it; where the thing has changed meanwhile, once more.
 */
import type { FastifyBaseLogger } from 'fastify'
import { recordChanges } from '../../store/changes.ts'
import type { Database } from '../../store/database.ts'
import type { Query } from '../../store/statement.ts'
import { isDuplicate } from '../../store/failures.ts'
import type { AuditTrail, Note } from '../audit/audit.ts'
import type { ChangeFeed } from '../change-feed.ts'
import type { Progress } from './progress.ts'
import { at, explained, type Source } from './seed-file.ts'
import { changedIn, isNews, type Said, type SeedMemory } from './seed-memory.ts'
import type { Change, SeededKind, Wanted } from './seeded-kind.ts'

export interface BatchOptions {
  database: Database
  audit: AuditTrail
  feed: ChangeFeed
  log: FastifyBaseLogger
  source: Source
  memory: SeedMemory
  /** What the file says, by key. */
  saying: ReadonlyMap<string, Said>
  /** When we began to remember, in a database that was in use before. */
  since: Date | undefined
  /** Whether nobody waits for it any more. */
  signal: AbortSignal
}

/** That a change may be made, the hash that it needs, if any, and what that was found out for. */
interface Proof {
  readonly basis: string
  readonly hash: string | undefined
}

const TRIES = 8
/** More than there are places to hash at. */
const IN_LINE = 8

export async function applyBatch<Row, Made>(
  kind: SeededKind<Row, Made>,
  batch: readonly Wanted[],
  progress: Progress,
  options: BatchOptions,
): Promise<void> {
  const { audit, feed, signal } = options
  const proofs = new Map<string, Proof>()
  for (let tried = 1; ; tried++) {
    try {
      const { unproven, keys } = await audit.transaction(async (query, note) =>
        write(query, note, kind, batch, proofs, options),
      )
      if (unproven.length > 0) {
        await prove(kind, unproven, proofs, progress, signal)
        continue
      }
      await feed.announceAll(kind.kind, keys)
      return
    } catch (error) {
      // Somebody else was first: the next time it is there.
      if (!isDuplicate(error) || tried >= TRIES) throw error
    }
  }
}

interface Written<Row> {
  unproven: readonly Change<Row>[]
  keys: readonly string[]
}

/** Writes nothing while a proof is missing. */
async function write<Row, Made>(
  query: Query,
  note: Note,
  kind: SeededKind<Row, Made>,
  batch: readonly Wanted[],
  proofs: ReadonlyMap<string, Proof>,
  options: BatchOptions,
): Promise<Written<Row>> {
  const { memory, saying } = options
  const before = await memory.lock(
    query,
    batch.map(({ key }) => key),
  )
  const open = batch.filter(({ key }) => isNews(saying.get(key)!, before.get(key)))
  const rows = await kind.lock(query, open)
  const changes = open.map((one) => decide(kind, one, before.get(one.key), rows.get(one.key), options))
  const unproven = changes.filter((change) => {
    const isNeeded = kind.check !== undefined || secretIn(kind, change) !== undefined
    return isNeeded && proofs.get(change.wanted.key)?.basis !== kind.basis?.(change)
  })
  if (unproven.length > 0) return { unproven, keys: [] }
  const said = open.map(({ key }) => [key, { before: before.get(key), now: saying.get(key)! }] as const)
  await memory.remember(query, new Map(said))
  const made = changes.flatMap((change) => {
    const proof = secretIn(kind, change) === undefined ? undefined : proofs.get(change.wanted.key)
    return at(change.wanted.place, () => kind.make({ ...change, hash: proof?.hash })) ?? []
  })
  const keys = made.length === 0 ? [] : await kind.store(query, note, made)
  await recordChanges(query, kind.kind, keys)
  return { unproven: [], keys }
}

function decide<Row, Made>(
  kind: SeededKind<Row, Made>,
  wanted: Wanted,
  before: Said | undefined,
  row: Row | undefined,
  { saying, since }: BatchOptions,
): Change<Row> {
  if (row === undefined) return { wanted, row, members: wanted.members }
  const names = new Set(changedIn(saying.get(wanted.key)!, before))
  // Of the file of a former version: whether it says anything else than before is not known.
  const registered = kind.since?.(row)
  if (before === undefined && since !== undefined && registered !== undefined && registered <= since)
    for (const name of kind.kept?.(row) ?? []) names.delete(name)
  if (kind.secret?.ends?.(row, wanted) === true) names.add(kind.secret.name)
  const members = Object.entries(wanted.members).filter(([name]) => names.has(name))
  return { wanted, row, members: Object.fromEntries(members) }
}

function secretIn<Row, Made>({ secret }: SeededKind<Row, Made>, { members }: Change<Row>): unknown {
  return secret === undefined ? undefined : (members[secret.name] ?? undefined)
}

async function prove<Row, Made>(
  kind: SeededKind<Row, Made>,
  changes: readonly Change<Row>[],
  proofs: Map<string, Proof>,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const waiting = [...changes]
  const work = async (): Promise<void> => {
    for (let change = waiting.shift(); change !== undefined; change = waiting.shift()) {
      const { key, place } = change.wanted
      signal.throwIfAborted()
      try {
        const hash = await hashFor(kind, change, progress)
        await kind.check?.({ ...change, hash })
        proofs.set(key, { basis: kind.basis?.(change) ?? '', hash })
      } catch (error) {
        waiting.length = 0
        throw explained(place, error)
      }
    }
  }
  await Promise.all(Array.from({ length: IN_LINE }, work))
}

async function hashFor<Row, Made>(
  kind: SeededKind<Row, Made>,
  change: Change<Row>,
  progress: Progress,
): Promise<string | undefined> {
  const value = secretIn(kind, change)
  if (value === undefined) return undefined
  const hash = await kind.secret?.hash(value, change.row, change.wanted)
  progress.hashed()
  return hash
}
