/**
 * The one way in which upstreams come to be, change and end, but for SEED_FILE; and all of them in memory, read again when the change feed
 * says so. There are few.
 */
import { metadataError } from '../../protocol/errors.ts'
import { reason } from '../../protocol/message.ts'
import {
  assertSecret,
  type LaidUpstream,
  layUpstream,
  parseUpstream,
  type StoredUpstream,
  type UpstreamInformation,
  type UpstreamInput,
  upstreamInformation,
} from '../../protocol/upstream-information.ts'
import { recordChange } from '../../store/changes.ts'
import type { Database } from '../../store/database.ts'
import { everyPage } from '../../store/every-page.ts'
import { isDuplicate } from '../../store/failures.ts'
import { statements } from '../../store/upstreams.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { ChangeFeed } from '../change-feed.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import type { ListOptions, SaveOptions } from '../resource-registry.ts'
import { changeEvent, secretContext, toRow, toStored } from './upstream-rows.ts'

export type { UpstreamInformation, UpstreamInput }

/** As it is used: with what only a request to it needs. */
export interface Upstream extends UpstreamInformation {
  /** Undefined where it knows us without one. Throws where no SECRET_KEY fits. */
  readonly secret: () => string | undefined
}

export interface UpstreamRegistry {
  /** Of all processes, two seconds old at most, in the order of their ids. Throws 503 when that cannot be known. */
  all(): Promise<readonly Upstream[]>
  /**
   * Registers it, or lays what is given over what is there: null takes a member away. Throws `invalid_client_metadata`
   * naming the field.
   */
  save(upstream: UpstreamInput, options?: SaveOptions): Promise<void>
  find(id: string): Promise<UpstreamInformation | null>
  list(options?: ListOptions): Promise<UpstreamInformation[]>
  /** False where there was none. Nobody signs in by it from then on; who is linked with it is so again when it comes back. */
  delete(id: string): Promise<boolean>
}

export interface UpstreamRegistryOptions {
  database: Database
  audit: AuditTrail
  feed: ChangeFeed
  issuer: string
  box: SecretBox
}

/** Read at once. */
const PAGE = 1000

/** @internal */
export function createUpstreamRegistry({
  database,
  audit,
  feed,
  issuer: own,
  box,
}: UpstreamRegistryOptions): UpstreamRegistry {
  let known: Promise<readonly Upstream[]> | undefined

  async function read(): Promise<readonly Upstream[]> {
    const all = await everyPage(
      (after) => database.query(statements.page, [after, PAGE]),
      PAGE,
      ({ id }) => id,
    )
    const rows = all.map(toStored)
    for (const row of rows) await reseal(row)
    return rows.map((row) => ({ ...upstreamInformation(row), secret: () => open(row) }))
  }

  function open({ id, client_secret: sealed }: StoredUpstream): string | undefined {
    return sealed === null
      ? undefined
      : box.open(sealed, secretContext(id), `the secret of the upstream ${id}`)
  }

  /** Under the first key from here on, so that older ones can go. One that no key fits is for its sign-in to say. */
  async function reseal({ id, client_secret: sealed }: StoredUpstream): Promise<void> {
    if (sealed === null || box.isCurrent(sealed)) return
    const secret = box.tryOpen(sealed, secretContext(id))
    if (secret !== null)
      await database.query(statements.reseal, [id, sealed, box.seal(secret, secretContext(id))])
  }

  /** What fails is asked for again. */
  function load(): Promise<readonly Upstream[]> {
    const loading = read()
    known = loading
    loading.catch(() => {
      if (known === loading) known = undefined
    })
    return loading
  }

  feed.onAny('upstream', async () => {
    if (known !== undefined) await load()
  })
  feed.onGap(async () => {
    known = undefined
  })

  /** The same secret stays as it is sealed, and one that no key fits is another. */
  function sealed({ id, client_secret: secret }: LaidUpstream, before: StoredUpstream | undefined) {
    if (secret === undefined || secret === null) return secret
    const had = before?.client_secret
    const isSame = had && box.tryOpen(had, secretContext(id)) === secret
    return isSame ? undefined : box.seal(secret, secretContext(id))
  }

  async function list({ after = '', limit = 100 }: ListOptions = {}): Promise<UpstreamInformation[]> {
    const rows = await database.query(statements.page, [after, limit])
    return rows.map((row) => upstreamInformation(toStored(row)))
  }

  return {
    async all() {
      await feed.catchUp()
      feed.assertFresh()
      return known ?? load()
    },
    list,
    async find(id) {
      const [row] = await database.query(statements.find, [id])
      return row === undefined ? null : upstreamInformation(toStored(row))
    },
    async save(input, { isNew } = {}) {
      const { members, unknown } = parseUpstream(input, own)
      const [stranger] = unknown
      if (stranger !== undefined) throw metadataError(stranger.slice(0, 100), 'is no member of an upstream')
      const { id } = members
      const changed = await audit
        .transaction(async (query, note) => {
          const [row] = await query(statements.lock, [[id]])
          if (isNew === true && row !== undefined) throw metadataError('id', reason('is already registered'))
          if (isNew === false && row === undefined) throw metadataError('id', reason('is not registered'))
          const before = row === undefined ? undefined : toStored(row)
          const secret = sealed(members, before)
          const { client_secret: _typed, ...others } = members
          const after = layUpstream(before, {
            ...others,
            ...(secret === undefined ? {} : { client_secret: secret }),
          })
          assertSecret(before, after, members.client_secret)
          const event = changeEvent(before, after)
          if (event === null) return false
          await query(row === undefined ? statements.insert : statements.update, [
            JSON.stringify([toRow(after)]),
          ])
          await recordChange(query, 'upstream', id)
          note(event)
          return true
        })
        .catch((error: unknown) => {
          throw isNew && isDuplicate(error) ? metadataError('id', reason('is already registered')) : error
        })
      if (changed) await feed.announce('upstream', id)
    },
    async delete(id) {
      const deleted = await audit.transaction(async (query, note) => {
        if ((await query(statements.delete, [id])).length === 0) return false
        await recordChange(query, 'upstream', id)
        note({ type: 'upstream.deleted', details: { upstream: id } })
        return true
      })
      if (deleted) await feed.announce('upstream', id)
      return deleted
    },
  }
}
