/** One message to an address, signed as Standard Webhooks 1.0 has it, by the guarded way out. */
import { createHmac } from 'node:crypto'
import type { Fetch } from '../../src/doors/outbound.ts'
import type { Webhook } from '../../src/settings/webhooks.ts'

export interface Answered {
  /** Of HTTP; 200 to 299 takes the message. */
  readonly status: number
  readonly milliseconds: number
}

/** Throws `OutboundError` where no answer came. */
export type Post = (webhook: Webhook, id: string, body: string) => Promise<Answered>

export function createPost(fetch: Fetch): Post {
  return async (webhook, id, body) => {
    const headers = { 'content-type': 'application/json', ...signed(webhook, id, body) }
    const began = performance.now()
    const { status } = await fetch(webhook.url, { method: 'POST', headers, body })
    return { status, milliseconds: Math.round(performance.now() - began) }
  }
}

export function isTaken({ status }: Answered): boolean {
  return status >= 200 && status < 300
}

/** By each of its secrets, so that whoever has either takes it. */
function signed({ secrets }: Webhook, id: string, body: string): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signatures = secrets.map(
    (secret) => `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
  )
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}
