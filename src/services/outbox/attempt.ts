/** One attempt at what was claimed: opened, judged, and bounded in time. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Delivery, Undeliverable } from '../../doors/outbound.ts'
import type { Bag } from '../../protocol/bag.ts'
import { misfitOf } from '../../protocol/schema.ts'
import type { ClaimedRow } from '../../store/outbox.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import { contextOf } from './outbox.ts'

/** What the delivery answers with. Throws what it throws, and where it is late, or can never be delivered. */
export type Attempt = (row: ClaimedRow) => Promise<string | null | void>

export interface AttemptOptions {
  box: SecretBox
  deliveries: () => ReadonlyMap<string, Delivery>
  /** Milliseconds. */
  limit: number
}

export function createAttempt({ box, deliveries, limit }: AttemptOptions): Attempt {
  function open(id: string, payload: string): Bag {
    try {
      return JSON.parse(box.open(payload, contextOf(id))) as Bag
    } catch (cause) {
      throw new Undeliverable('its payload cannot be decrypted', { cause })
    }
  }

  return async ({ id, kind, payload, attempts: attempt, enqueuedAt }) => {
    const delivery = deliveries().get(kind)!
    const opened = open(id, payload)
    if (misfitOf(delivery.payload, opened) !== undefined)
      throw new Undeliverable('its payload does not fit any more')
    const over = new AbortController()
    const late = sleep(limit, undefined, { signal: over.signal, ref: false }).then(() => {
      throw new Error(`it took longer than ${limit / 1000} seconds`)
    })
    late.catch(() => {})
    const trying = delivery.deliver(opened, { id, attempt, enqueuedAt: enqueuedAt.getTime() })
    return Promise.race([trying, late]).finally(() => over.abort())
  }
}
