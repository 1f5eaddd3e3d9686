/** What operators see of the addresses that WEBHOOKS names, and do about them: from the command line, a page and the interface of the administration. */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { RecipientState } from '../../src/services/outbox/recipients.ts'
import type { Webhook } from '../../src/settings/webhooks.ts'
import type { Post } from './posting.ts'
import { sendTest, TEST, type Tested } from './testing.ts'

export interface Webhooks {
  /** In the order of the setting. */
  readonly all: readonly Webhook[]
  /** Undefined for a name of none. */
  find(name: string): Webhook | undefined
  /** Each with what waits for it, what was given up, and what became of the last attempts. */
  list(): Promise<readonly (Webhook & RecipientState)[]>
  /** Sends a message of its own type at once, says what became of it, and tells the audit log. Who takes it is not left alone any more. */
  test(webhook: Webhook): Promise<Tested>
  /** What was given up is tried for another day, and at once; how many that is. */
  retry(webhook: Webhook): Promise<number>
}

interface Of {
  /** Of their deliveries. */
  readonly kind: string
  readonly all: readonly Webhook[]
  readonly post: Post
}

export function createWebhooks(fastify: FastifyInstance, { kind, all, post }: Of): Webhooks {
  const { audit, givenUpDeliveries, recipients } = kernelOf(fastify)
  return {
    all,
    find: (wanted) => all.find(({ name }) => name === wanted),
    async list() {
      const states = await recipients.list(
        kind,
        all.map(({ name }) => name),
      )
      return states.map((state, at) => ({ ...all[at]!, ...state }))
    },
    async test(webhook) {
      const { name } = webhook
      const tested = await sendTest(post, webhook)
      const { id, taken, status, milliseconds, problem = status } = tested
      await audit.transaction(async (_query, note) =>
        note({ type: 'webhook.tested', details: { webhook: name, taken, status } }),
      )
      const outcome = { id, at: Date.now(), milliseconds, done: taken, text: `${TEST}: ${problem}` }
      await recipients.tell(kind, name, outcome)
      if (taken) await recipients.well(kind, name)
      return tested
    },
    async retry({ name }) {
      const retried = await givenUpDeliveries.retryAll({ kind, recipient: name })
      await recipients.well(kind, name)
      return retried
    },
  }
}
