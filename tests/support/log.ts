/** A log as the server writes it, for services that are tried without a server. */
import { fastify, type FastifyBaseLogger } from 'fastify'
import { PassThrough } from 'node:stream'
import { loggingOptions } from '../../src/services/log.ts'

/** The logger, and all of its lines so far. */
export function recordingLog(level = 'trace'): { log: FastifyBaseLogger; output(): string } {
  const lines: string[] = []
  const stream = new PassThrough({ encoding: 'utf8' }).on('data', (line: string) => lines.push(line))
  return { log: fastify(loggingOptions(level, stream)).log, output: () => lines.join('') }
}
