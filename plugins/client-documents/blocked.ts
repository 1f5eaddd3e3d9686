/**
 * What an administrator has shut out: the address of one document, or a host with all that it has. Whoever is let in again begins anew: what
 * was given before stays ended, as that of a client which was deleted and registered again.
 */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { OWN_CLOCK_SKEW } from '../../src/protocol/age-of.ts'
import { recordChange } from '../../src/store/changes.ts'

export interface BlockedName {
  /** An address, or a host with its port where that is not the usual one. */
  readonly name: string
  /** Milliseconds since the epoch. */
  readonly since: number
}

export interface Blocked {
  /** Null for what is blocked; else from when on what it was given counts, in milliseconds since the epoch: 0 where it never was. */
  since(url: URL): Promise<number | null>
  list(page: {
    after?: string | undefined
    limit: number
  }): Promise<{ names: BlockedName[]; next: string | null }>
  /** Throws `OAuthError` for what is neither an address of a client nor a host. */
  block(name: string): Promise<void>
  /** False where it is not blocked. */
  unblock(name: string): Promise<boolean>
}

/** Instants in milliseconds since the epoch. */
interface Rule {
  readonly blockedAt: number
  /** Of what is blocked no more. */
  readonly liftedAt?: number
}

/** Milliseconds, for processes that have not heard of it yet. */
const HEARD = 5000

/** Characters. */
const LONGEST = 200
const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)(?::[1-9]\d{0,4})?$/

export function createBlocked(fastify: FastifyInstance, isAddress: (name: string) => boolean): Blocked {
  const { database, feed } = kernelOf(fastify)
  const records = fastify.oauth.records<Rule>('blocked-client', { most: 100_000 })

  async function tell(name: string): Promise<void> {
    const key = name.includes('/') ? name : `https://${name}/`
    await database.transaction(async (query) => recordChange(query, 'client', key))
    await feed.announce('client', key)
  }

  return {
    async since({ href, host }) {
      const rules = await Promise.all([records.get(href), records.get(host)])
      const lifted = rules.map((rule) => (rule === null ? 0 : sinceOf(rule.value)))
      return lifted.includes(null) ? null : Math.max(...(lifted as number[]))
    },
    async list({ after = '', limit }) {
      const found = await records.list({ after, limit })
      const next = found.length === limit ? found.at(-1)!.id : null
      const names = found.filter(({ value }) => value.liftedAt === undefined)
      return { names: names.map(({ id, value: { blockedAt: since } }) => ({ name: id, since })), next }
    },
    async block(name) {
      if (!isAddress(name) && !(name.length <= LONGEST && HOST.test(name)))
        throw new OAuthError(
          'invalid_request',
          'must be the address of a client, or a host such as app.example',
        )
      const event = { type: 'client.blocked', details: { blocked: name } } as const
      const rule = { blockedAt: Date.now() }
      if (!(await records.put(name, rule, event))) {
        const known = await records.get(name)
        if (known?.value.liftedAt !== undefined) await records.replace(known, rule, event)
      }
      await tell(name)
    },
    async unblock(name) {
      const known = await records.get(name)
      if (known === null || known.value.liftedAt !== undefined) return false
      const event = { type: 'client.unblocked', details: { blocked: name } } as const
      await records.replace(known, { ...known.value, liftedAt: Date.now() }, event)
      await tell(name)
      return true
    },
  }
}

/** Null while it is blocked. What was given before counts for nothing, whichever clock it was given by. */
function sinceOf({ blockedAt, liftedAt }: Rule): number | null {
  return liftedAt === undefined ? null : Math.min(blockedAt + HEARD, liftedAt) + OWN_CLOCK_SKEW * 1000
}
