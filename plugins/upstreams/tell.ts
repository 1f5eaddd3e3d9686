/** What an operator reads in the log of an upstream that failed: why, and nothing that was in the answer. */
import type { FastifyBaseLogger } from 'fastify'
import { OutboundError } from '../../src/doors/outbound.ts'
import type { UpstreamInformation } from '../../src/services/upstreams/upstream-registry.ts'
import type { UpstreamFailure } from './provider.ts'

export function tellOperator(
  log: FastifyBaseLogger,
  { id }: UpstreamInformation,
  { failure, cause }: UpstreamFailure,
): void {
  if (failure === 'denied') return
  log.warn({ upstream: id, failure, reason: reasonsOf(cause).join(': ') }, 'a sign-in by an upstream failed')
}

function reasonsOf(error: unknown): string[] {
  if (!(error instanceof Error)) return []
  const { code, error: said } = error as { code?: unknown; error?: unknown }
  const own = error instanceof OutboundError ? error.reason : error.message
  const named = [said ?? code].filter((one) => typeof one === 'string')
  return [[own, ...named].join(' '), ...reasonsOf(error.cause)]
}
