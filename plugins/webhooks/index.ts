/**
 * Webhooks (Standard Webhooks 1.0): addresses of the operator's are told what happens here, each of what it asks for. What is told is stored with the
 * change that it is of, signed when it is sent, and sent until it is taken. With `WEBHOOKS` unset nothing of it is here.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { ConfigError } from '../../src/config.ts'
import { OutboundError, Undeliverable } from '../../src/doors/outbound.ts'
import type { AuditEvent } from '../../src/events.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { Type } from '../../src/protocol/schema.ts'
import { parseWebhook, type Webhook } from '../../src/settings/webhooks.ts'
import { createPost, isTaken } from './posting.ts'
import { sendTest, type Tested } from './testing.ts'
import { storedOf } from './told.ts'

const KIND = 'webhook'
/** Milliseconds in which all processes have been restarted with other settings. */
const RESTARTED = 3_600_000

/** Those of WEBHOOKS, in its order. */
export interface Webhooks {
  readonly all: readonly Webhook[]
  /** Sends a message of its own type at once, says what became of it, and tells the audit log. */
  test(webhook: Webhook): Promise<Tested>
}

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
  fastify.decorate('webhooks', {
    all,
    async test(webhook) {
      const tested = await sendTest(post, webhook)
      const { taken, status } = tested
      oauth.audit.observe({ type: 'webhook.tested', details: { webhook: webhook.name, taken, status } })
      return tested
    },
  })
  if (all.length === 0) return

  async function send(webhook: Webhook, id: string, text: string): Promise<void> {
    const { origin } = new URL(webhook.url)
    const answered = await post(webhook, id, text).catch((error: unknown) => {
      throw error instanceof OutboundError ? new Error(`${origin} did not answer: ${error.reason}`) : error
    })
    // Whoever answers so wants no more of it.
    if (answered.status === 410) throw new Undeliverable(`${origin} answered with 410: the address is gone`)
    if (!isTaken(answered)) throw new Error(`${origin} answered with ${answered.status}`)
  }
  const sendInTurn = oneByOneAfterFailures(send)

  oauth.deliver({
    kind: KIND,
    payload: Type.Object({ url: Type.String(), text: Type.String() }),
    async deliver({ url, text }, { id, enqueuedAt }) {
      const webhook = all.find((one) => one.url === url)
      // Of a process that was started anew before this one.
      if (webhook === undefined && Date.now() - enqueuedAt < RESTARTED)
        throw new Error('its address is not in WEBHOOKS of this process')
      if (webhook === undefined) throw new Undeliverable('its address is in WEBHOOKS no more')
      await sendInTurn(webhook, id, text)
    },
  })

  // A command tells nobody anything.
  fastify.addHook('onListen', async () => {
    const origins = [...new Set(all.map(({ url }) => new URL(url).origin))]
    fastify.log.info({ origins }, 'these are told what happens here (WEBHOOKS)')
  })
  for (const { url, types } of all)
    try {
      oauth.enqueueOn(types, (event) =>
        isOfWebhook(event) ? [] : [{ kind: KIND, payload: storedOf(url, event) }],
      )
    } catch (error) {
      throw error instanceof ConfigError ? new ConfigError(`WEBHOOKS: ${error.message}`) : error
    }
}

type Send = (webhook: Webhook, id: string, text: string) => Promise<void>

/** An address whose last try failed is tried once at a time, and what comes beside it is put off at once: it would keep all others waiting. */
function oneByOneAfterFailures(send: Send): Send {
  const failures = new Map<string, unknown>()
  const tried = new Set<string>()
  return async (webhook, id, text) => {
    const { url } = webhook
    const hasFailed = failures.has(url)
    if (hasFailed && tried.has(url)) throw failures.get(url)
    if (hasFailed) tried.add(url)
    try {
      await send(webhook, id, text)
      failures.delete(url)
    } catch (error) {
      if (!(error instanceof Undeliverable)) failures.set(url, error)
      throw error
    } finally {
      if (hasFailed) tried.delete(url)
    }
  }
}

/** That one was given up would else be told by the next, and so on. */
function isOfWebhook({ type, details }: AuditEvent): boolean {
  return type.startsWith('delivery.') && (details as Bag)['kind'] === KIND
}

export default fp(webhooks, { name: 'latchkey-webhooks', dependencies: ['latchkey-oauth'] })
