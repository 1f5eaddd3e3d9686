/** What an operator reads in the log of an upstream that failed: why, with what it said of it itself (RFC 6749 §5.2), and nothing else that was in the answer. */
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

/** By `openid-client`. */
interface Said {
  readonly code?: unknown
  readonly error?: unknown
  readonly error_description?: unknown
}

function reasonOf(error: Error): string {
  if (error instanceof OutboundError) return error.reason
  const { code, error: said, error_description: description } = error as Error & Said
  const theirs = [said, description].filter((one) => typeof one === 'string')
  const own = cleaned(error.message, LONGEST)
  if (theirs.length > 0) return `${own}; it says ${theirs.map(quoted).join(', ')}`
  return typeof code === 'string' && !own.includes(code) ? `${own} ${code}` : own
}

/** Of what an upstream said, and of one reason: characters. */
const LONGEST_OF_THEIRS = 200
const LONGEST = 500

/** Theirs, and in quotation marks that end where it ends. */
function quoted(text: string): string {
  return `"${cleaned(text, LONGEST_OF_THEIRS).replaceAll('"', "'")}"`
}

/** One line, and not a long one: neither controls nor what turns the order of a line round. */
function cleaned(text: string, most: number): string {
  const line = text
    .slice(0, most)
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
  return text.length > most ? `${line}…` : line
}
