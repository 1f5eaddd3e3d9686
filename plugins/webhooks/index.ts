/**
 * Webhooks (Standard Webhooks 1.0): addresses of the operator's are told what happens here, each of what it asks for. What is told is stored with the
 * change that it is of, signed when it is sent, and sent until it is taken. With `WEBHOOKS` unset, programs are told that there are none, and nothing else of it is here.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { ConfigError } from '../../src/config.ts'
import { NotHere, OutboundError, RecipientGone, Undeliverable } from '../../src/doors/outbound.ts'
import type { AuditEvent } from '../../src/events.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { Type } from '../../src/protocol/schema.ts'
import { TooManyUnderWay } from '../../src/services/outbound/too-many.ts'
import { parseWebhook, type Webhook } from '../../src/settings/webhooks.ts'
import { addAdminWebhooks } from './admin-webhooks.ts'
import { addOperations } from './operations.ts'
import { createPost, isTaken } from './posting.ts'
import { createWebhooks, type Webhooks } from './webhooks.ts'
import { storedOf } from './told.ts'

const KIND = 'webhook'
/** Milliseconds in which all processes have been restarted with other settings. */
const RESTARTED = 3_600_000

declare module 'fastify' {
  interface FastifyInstance {
    webhooks: Webhooks
  }
}

async function webhooks(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { config } = kernelOf(fastify)
  // They were judged with the settings.
  const all = config.WEBHOOKS.map((entry) => parseWebhook(entry) as Webhook)
  const post = createPost(oauth.fetch)
  const own = createWebhooks(fastify, { kind: KIND, all, post })
  fastify.decorate('webhooks', own)
  // Programs ask whether there are any.
  if (fastify.hasDecorator('adminApi')) addOperations(fastify.adminApi, own)
  if (all.length === 0) return

  async function send(webhook: Webhook, id: string, text: string): Promise<string> {
    const { origin } = new URL(webhook.url)
    const answered = await post(webhook, id, text).catch((error: unknown) => {
      if (!(error instanceof OutboundError) || error instanceof TooManyUnderWay) throw error
      throw new Error(`${origin} did not answer: ${error.reason}`)
    })
    // Whoever answers so wants no more of it.
    if (answered.status === 410) throw new Undeliverable(`${origin} answered with 410: the address is gone`)
    if (!isTaken(answered)) throw new Error(`${origin} answered with ${answered.status}`)
    return `${(JSON.parse(text) as { type: string }).type}: ${answered.status}`
  }

  oauth.deliver({
    kind: KIND,
    payload: Type.Object({ url: Type.String(), text: Type.String() }),
    async deliver({ url, text }, { id, enqueuedAt }) {
      const webhook = all.find((one) => one.url === url)
      // Of a process that was started anew before this one.
      const enqueuedBefore = Date.now() - RESTARTED
      if (webhook === undefined && enqueuedAt >= enqueuedBefore)
        throw new NotHere('its address is not in WEBHOOKS of this process')
      if (webhook === undefined)
        throw new RecipientGone('its address is in WEBHOOKS no more', { enqueuedBefore })
      return send(webhook, id, text)
    },
  })

  if (fastify.hasDecorator('admin')) await addAdminWebhooks(fastify, own)
  // A command tells nobody anything.
  fastify.addHook('onListen', async () => {
    const origins = [...new Set(all.map(({ url }) => new URL(url).origin))]
    fastify.log.info({ origins }, 'these are told what happens here (WEBHOOKS)')
  })
  for (const { url, name, types } of all)
    try {
      oauth.enqueueOn(types, (event) =>
        isOfWebhook(event) ? [] : [{ kind: KIND, recipient: name, payload: storedOf(url, event) }],
      )
    } catch (error) {
      throw error instanceof ConfigError ? new ConfigError(`WEBHOOKS: ${error.message}`) : error
    }
}

/** That one was given up would else be told by the next, and so on. */
function isOfWebhook({ type, details }: AuditEvent): boolean {
  return type.startsWith('delivery.') && (details as Bag)['kind'] === KIND
}

export default fp(webhooks, { name: 'latchkey-webhooks', dependencies: ['latchkey-oauth'] })
