/** A line of the log where there is no server to write it, in the manner of `log.ts`, whose lines take Fastify. */
import type { LogStream } from './log.ts'

/** Where LOG_LEVEL leaves warnings out, and what else leaves out what is only said. */
const LEAVE_OUT = {
  warn: new Set(['error', 'fatal', 'silent']),
  info: new Set(['warn', 'error', 'fatal', 'silent']),
}

export function writeWarning(level: string, stream: LogStream, about: object, msg: string): void {
  writeLine('warn', level, stream, about, msg)
}

export function writeLine(
  own: keyof typeof LEAVE_OUT,
  level: string,
  stream: LogStream,
  about: object,
  msg: string,
): void {
  if (LEAVE_OUT[own].has(level)) return
  const time = new Date().toISOString()
  stream.write(`${JSON.stringify({ level: own, time, ...about, msg })}\n`)
}
