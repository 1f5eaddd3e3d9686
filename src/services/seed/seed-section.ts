/**
 * Applies one section of SEED_FILE: finds what it says otherwise than the last time, and has that written batch by batch.
 * Each batch stays: who is stopped half-way goes on from there at the next start.
 */
import { statements } from '../../store/seed-entries.ts'
import type { Progress } from './progress.ts'
import { applyBatch, type BatchOptions } from './seed-batch.ts'
import { isNews, partsOf, type Said } from './seed-memory.ts'
import type { SeededKind, Wanted } from './seeded-kind.ts'

/** What is written in one transaction: what a stop loses is the hashing of so many at most. */
const BATCH = 100

export async function applySection<Row, Made>(
  kind: SeededKind<Row, Made>,
  wanted: readonly Wanted[],
  progress: Progress,
  options: Omit<BatchOptions, 'saying' | 'since'>,
): Promise<void> {
  const { memory, database, log, source, signal } = options
  const saying = new Map<string, Said>()
  for (const { key, members } of wanted) saying.set(key, memory.digest(key, inOneOrder(kind, members)))
  const [row] = await database.query(statements.since)
  const before = await memory.recall([...saying.keys()])
  const changed = wanted.filter(({ key }) => isNews(saying.get(key)!, before.get(key)))

  // By chance: of several processes that start at once, each takes another part first, and then finds the others' done.
  const batches = partsOf(changed, BATCH)
  progress.begin(kind.section, changed.length)
  while (batches.length > 0) {
    signal.throwIfAborted()
    const [batch] = batches.splice(Math.floor(Math.random() * batches.length), 1)
    await applyBatch(kind, batch!, progress, { ...options, saying, since: row?.saidAt })
    progress.done(batch!.length)
  }

  const isChanged = new Set(changed)
  const unchanged = wanted.filter((one) => !isChanged.has(one))
  const gone = await missing(kind, unchanged)
  if (gone.length === 0) return
  const details = { section: kind.section, count: gone.length, first: gone.slice(0, 5) }
  log.warn(details, `${source}: these were deleted or renamed here, and stay so until their entries change`)
}

async function missing<Row, Made>(kind: SeededKind<Row, Made>, wanted: readonly Wanted[]): Promise<string[]> {
  const there = new Set<string>()
  for (const part of partsOf(wanted, 1000))
    for (const { key } of await kind.present(part.map(({ key }) => key))) there.add(key)
  return wanted.map(({ key }) => key).filter((key) => !there.has(key))
}

function inOneOrder<Row, Made>(
  { unordered = [] }: SeededKind<Row, Made>,
  members: Wanted['members'],
): Wanted['members'] {
  const sorted = unordered.flatMap((name) => {
    const value = members[name]
    return Array.isArray(value) ? [[name, value.map(String).toSorted()] as const] : []
  })
  return { ...members, ...Object.fromEntries(sorted) }
}
