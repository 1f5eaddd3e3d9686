/** What an operator is told of a look, when the server listens: commands run under the same settings, and show no pages. */
import type { FastifyInstance } from 'fastify'

export interface Notes {
  info(line: string): void
  warn(line: string): void
}

export function notesWhenListening(fastify: FastifyInstance): Notes {
  const lines: { level: keyof Notes; line: string }[] = []
  fastify.addHook('onListen', async () => {
    for (const { level, line } of lines) fastify.log[level](line)
  })
  return {
    info: (line) => void lines.push({ level: 'info', line }),
    warn: (line) => void lines.push({ level: 'warn', line }),
  }
}
