/**
 * Webhooks (Standard Webhooks 1.0): addresses of the operator's are told what happens here, each of what it asks for. What is told is stored with the
 * change that it is of, signed when it is sent, and sent until it is taken. With `WEBHOOKS` unset nothing of it is here.
 */
import { createHmac } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { ConfigError } from '../src/config.ts'
import { OutboundError, Undeliverable } from '../src/doors/outbound.ts'
import type { AuditEvent } from '../src/events.ts'
import { kernelOf } from '../src/http/kernel-of.ts'
import type { Bag } from '../src/protocol/bag.ts'
import { isObject } from '../src/protocol/json.ts'
import { Type } from '../src/protocol/schema.ts'
import { auditEventToWire } from '../src/services/audit/audit-event-wire.ts'
import { parseWebhook, type Webhook } from '../src/settings/webhooks.ts'

const KIND = 'webhook'
/** Characters of what is stored: a delivery holds little more. */
const MOST = 32_000
/** Milliseconds in which all processes have been restarted with other settings. */
const RESTARTED = 3_600_000
/** Members of details that are addresses and names of people. */
const PERSONAL: ReadonlySet<string> = new Set(['address', 'device', 'name'])

async function webhooks(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { config } = kernelOf(fastify)
  // They were judged with the settings.
  const all = config.WEBHOOKS.map((entry) => parseWebhook(entry) as Webhook)
  if (all.length === 0) return

  async function send(webhook: Webhook, id: string, text: string): Promise<void> {
    const headers = { 'content-type': 'application/json', ...signed(webhook, id, text) }
    const { origin } = new URL(webhook.url)
    const { ok, status } = await oauth
      .fetch(webhook.url, { method: 'POST', headers, body: text })
      .catch((error: unknown) => {
        throw error instanceof OutboundError ? new Error(`${origin} did not answer: ${error.reason}`) : error
      })
    // Whoever answers so wants no more of it.
    if (status === 410) throw new Undeliverable(`${origin} answered with 410: the address is gone`)
    if (!ok) throw new Error(`${origin} answered with ${status}`)
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
        isOfWebhook(event) ? [] : [{ kind: KIND, payload: payloadOf(url, event) }],
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

/** Details that are too long are left out, as of somebody who used hundreds of apps. */
function payloadOf(url: string, event: AuditEvent): Bag {
  const told = toldOf(event)
  const whole = { url, text: JSON.stringify(told) }
  // What is told is a text in it, whose quotes are escaped.
  if (JSON.stringify(whole).length <= MOST) return whole
  return { url, text: JSON.stringify({ ...told, data: { ...told.data, details: {}, shortened: true } }) }
}

/** Without where it came from, and of changes what was changed alone: what is told of somebody cannot be forgotten with them. */
function toldOf(event: AuditEvent) {
  const { address: _address, details, ...data } = auditEventToWire(event) as Bag & { details: Bag }
  const shown = Object.entries(details).flatMap(([name, value]) => {
    if (PERSONAL.has(name)) return []
    return [[name, name === 'changes' && isObject(value) ? Object.keys(value) : value] as const]
  })
  return {
    type: event.type,
    timestamp: data['at'],
    data: { ...data, details: Object.fromEntries(shown) },
  }
}

function signed({ secrets }: Webhook, id: string, text: string): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signatures = secrets.map(
    (secret) => `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${text}`).digest('base64')}`,
  )
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}

export default fp(webhooks, { name: 'latchkey-webhooks', dependencies: ['latchkey-oauth'] })
