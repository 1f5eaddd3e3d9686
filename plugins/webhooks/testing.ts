/** A message that is sent to see whether an address takes messages, at once and once; and what to do where it does not. */
import { OutboundError } from '../../src/doors/outbound.ts'
import { createUuid } from '../../src/protocol/uuid.ts'
import type { Webhook } from '../../src/settings/webhooks.ts'
import { isTaken, type Post } from './posting.ts'

/** The type of the message, which nothing else has. */
export const TEST = 'webhook.test'

export interface Tested {
  /** Of the message. */
  readonly id: string
  readonly taken: boolean
  /** Of HTTP; null where no answer came. */
  readonly status: number | null
  readonly milliseconds: number
  /** In a few words, why it was not taken. */
  readonly problem?: string
  /** A sentence for operators. */
  readonly advice?: string
}

export async function sendTest(post: Post, webhook: Webhook): Promise<Tested> {
  const id = createUuid(Date.now())
  const at = new Date().toISOString()
  const data = { id, at, type: TEST, count: 1, actor: { kind: 'server' }, details: {} }
  const began = performance.now()
  try {
    const answered = await post(webhook, id, JSON.stringify({ type: TEST, timestamp: at, data }))
    if (isTaken(answered)) return { id, taken: true, ...answered }
    const { status } = answered
    return { id, taken: false, ...answered, problem: `it answered with ${status}`, advice: adviceOf(status) }
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    const milliseconds = Math.round(performance.now() - began)
    const { reason: problem } = error
    return { id, taken: false, status: null, milliseconds, problem, advice: adviceWithout(problem, webhook) }
  }
}

function adviceOf(status: number): string {
  if (status === 410) return 'It wants no more messages: take it out of WEBHOOKS.'
  if (status === 404 || status === 405) return 'See that the path is right, and that it takes POST.'
  if (status >= 500) return 'See its log.'
  if (status >= 400) return 'See that it has the secret of this entry, and the right time: a message is good for five minutes.'
  return 'No redirect is followed: name the address where it leads.'
} // prettier-ignore

function adviceWithout(problem: string, { url }: Webhook): string {
  const { origin } = new URL(url)
  if (/in time|TIMEOUT/.test(problem))
    return 'See that it is reached from here, and answers within 5 seconds; work that takes longer comes after its answer.'
  if (/ENOTFOUND|EAI_AGAIN/.test(problem)) return 'See that the name is right, and known to the DNS of this machine.'
  if (/public internet/.test(problem)) return `Where that is meant, add ${origin} to UNSAFE_OUTBOUND_ORIGINS.`
  if (/CERT|SELF_SIGNED|TLS|SSL|UNABLE_TO/.test(problem))
    return 'See its certificate; NODE_EXTRA_CA_CERTS adds an authority of your own.'
  if (/bytes/.test(problem)) return 'An empty answer is enough.'
  return 'See that it runs, and that it is reached from here.'
} // prettier-ignore
