/** The signing keys in memory, as the database had them when it was last read, and which of them are published and sign now. */
import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../../store/database.ts'
import { statements, type SigningKeyRow } from '../../store/signing-keys.ts'
import { DATABASE } from './database-keys.ts'
import { signerAmong, signsUntil } from './key-order.ts'
import { toRecord, toRingKey, type KeyRecord, type RingKey } from './ring-key.ts'
import type { SecretBox } from './secret-box.ts'

export interface LoadedKeys {
  /** Reads all of them anew. Throws `UnreadableError` when one cannot be decrypted. */
  load(): Promise<void>
  /** Those that are published, oldest first. */
  live(): readonly RingKey[]
  /** A published one by its kid. */
  find(kid: string): RingKey | undefined
  /** The one of an algorithm that has no successor. */
  newest(algorithm: string): RingKey | undefined
  /** The key that signs now. Throws when there is none for the algorithm. */
  signer(algorithm: string): RingKey
  /** All that sign now, one for each algorithm that has any. */
  signers(): readonly RingKey[]
  /** Those that were revoked within the last day, oldest first. */
  revoked(): readonly KeyRecord[]
}

export interface LoadedKeysOptions {
  database: Database
  box: SecretBox
  log: FastifyBaseLogger
}

export function createLoadedKeys({ database, box, log }: LoadedKeysOptions): LoadedKeys {
  let ring: readonly RingKey[] = []
  let revoked: readonly KeyRecord[] = []
  let loading = Promise.resolve()

  async function read(): Promise<void> {
    const rows = await database.query(statements.all)
    const records = rows.map(toRecord)
    const known = new Map(ring.map((key) => [key.kid, key]))
    const usable = rows.filter((row) => row.revokedAt === null)
    ring = usable.map((row) => toRingKey(row, signsUntil(toRecord(row), records), box, known.get(row.kid)))
    revoked = records.filter((record) => record.revokedAt !== null)
    for (const row of usable) if (row.store === DATABASE && !box.isCurrent(row.privateJwk)) await reseal(row)
  }

  /** Encrypts a key anew when SECRET_KEY has a new first entry. */
  async function reseal(row: SigningKeyRow): Promise<void> {
    const sealed = box.seal(box.open(row.privateJwk, row.kid), row.kid)
    await database.query(statements.reseal, [row.kid, row.privateJwk, sealed])
    log.info({ kid: row.kid }, 'signing key encrypted under the new SECRET_KEY')
  }

  function live(): readonly RingKey[] {
    const now = Date.now()
    if (ring.every((key) => key.retiresAt === null || key.retiresAt > now)) return ring
    return ring.filter((key) => key.retiresAt === null || key.retiresAt > now)
  }

  return {
    // One after the other: what was read before a change must not replace what was read after it.
    async load() {
      loading = loading.then(read, read)
      return loading
    },
    live,
    find: (kid) => live().find((key) => key.kid === kid),
    newest: (algorithm) => ring.find((key) => key.algorithm === algorithm && key.retiresAt === null),
    signer(algorithm) {
      const key = signerAmong(live(), algorithm, Date.now())
      if (key === undefined) throw new Error(`there is no ${algorithm} key to sign with`)
      return key
    },
    signers() {
      const keys = live()
      const algorithms = new Set(keys.map(({ algorithm }) => algorithm))
      return [...algorithms].flatMap((algorithm) => signerAmong(keys, algorithm, Date.now()) ?? [])
    },
    revoked: () => revoked,
  }
}
