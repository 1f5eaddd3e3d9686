/** A warning where there is no server to log it, in the manner of `log.ts`, whose lines take Fastify. */
import type { LogStream } from './log.ts'

/** Where LOG_LEVEL leaves warnings out. */
const LEFT_OUT = new Set(['error', 'fatal', 'silent'])

export function writeWarning(level: string, stream: LogStream, about: object, msg: string): void {
  if (LEFT_OUT.has(level)) return
  const time = new Date().toISOString()
  stream.write(`${JSON.stringify({ level: 'warn', time, ...about, msg })}\n`)
}
