/** What an operator reads in the log of an upstream that failed: why, and nothing that was in the answer. */
import type { FastifyBaseLogger } from 'fastify'
import { OutboundError } from '../../src/doors/outbound.ts'
import type { UpstreamInformation } from '../../src/services/upstreams/upstream-registry.ts'
import type { UpstreamFailure } from './failures.ts'

export function tellOperator(
  log: FastifyBaseLogger,
  { id }: UpstreamInformation,
  { failure, cause }: UpstreamFailure,
): void {
  if (failure === 'denied') return
  log.warn({ upstream: id, failure, reason: reasonsOf(cause).join(': ') }, 'a sign-in by an upstream failed')
}

/** What libraries say around the reason. */
const SAYS_NOTHING = new Set(['something went wrong', 'fetch failed'])

/** From the outermost to the first, each once. */
function reasonsOf(error: unknown): string[] {
  if (!(error instanceof Error)) return []
  const behind = reasonsOf(error.cause)
  const own = reasonOf(error)
  const isSaid = behind.some((one) => one.includes(own)) || (SAYS_NOTHING.has(own) && behind.length > 0)
  return isSaid ? behind : [own, ...behind]
}

function reasonOf(error: Error): string {
  if (error instanceof OutboundError) return error.reason
  const { code, error: said } = error as { code?: unknown; error?: unknown }
  const named = [said ?? code].filter((one) => typeof one === 'string' && !error.message.includes(one))
  return [error.message, ...named].join(' ')
}
