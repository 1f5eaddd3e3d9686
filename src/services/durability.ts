/**
 * Whether the database keeps what it has acknowledged. We acknowledge what it has: a revocation, a code that was spent, a
 * new password. Said by the start of a production server, in its log, and by `doctor`.
 */
import type { Config } from '../config.ts'
import { readServerFacts, type ServerFacts } from '../store/server-facts.ts'

type Durability = Pick<ServerFacts, 'fsync' | 'fullPageWrites' | 'synchronousCommit'>

/** Sentences, each of which names what may be lost, and what to change. */
export function lossesOf({ fsync, fullPageWrites, synchronousCommit }: Durability): string[] {
  const found: (readonly [boolean, string])[] = [
    [!fsync, 'Its fsync is off, so a crash of its machine loses data, or all of it: turn it on.'],
    [
      !fullPageWrites,
      'Its full_page_writes is off, so a crash of its machine damages tables whose pages were half written: turn it on.',
    ],
    [
      synchronousCommit === 'off',
      'Its synchronous_commit is off, so a crash brings revoked tokens back: turn it on for our role.',
    ],
  ]
  return found.filter(([is]) => is).map(([, sentence]) => sentence)
}

/**
 * The same of the database that a production start uses. The embedded one has our settings, and a development start may
 * use one that is to be thrown away. Nothing where it cannot be asked now: requests will say so.
 */
export async function lossesAtStart(config: Config): Promise<string[]> {
  const { production, DATABASE_URL: url, DATABASE_SCHEMA: schema } = config
  if (!production || url === undefined) return []
  return readServerFacts({ url, schema }).then(lossesOf, () => [])
}
