/**
 * How the server logs: one JSON line for each thing, without queries, headers or bodies, and without what a
 * database error quotes of its values. Successful requests are lines at debug.
 */
import { LogController, type FastifyInstance, type FastifyServerOptions } from 'fastify'
import { randomFillSync } from 'node:crypto'
import { OutboundError } from '../doors/outbound.ts'
import { logOfRequest } from './request-log.ts'

/** What a line holds of an error, a request and a response. */
export const serializers = {
  err: (error: unknown) => describeError(error),
  req: ({ method }: { method: string }) => ({ method }),
  res: ({ statusCode }: { statusCode: number }) => ({ statusCode }),
}

/** What takes lines, each with its end. */
export interface LogStream {
  write(line: string): unknown
}

/** Fastify's options for logging at `level`, to `stream` (default stdout). */
export function loggingOptions(level: string, stream?: LogStream): FastifyServerOptions {
  return {
    logger: {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers,
      hooks: {
        // Without a text of its own, a line would take the error's message as it is.
        logMethod(given, log) {
          const [first, text] = given as unknown[]
          const error = first instanceof Error ? first : (first as { err?: unknown } | null)?.err
          const unsafe = error instanceof Error && (text ?? error.message) === error.message
          log.apply(this, unsafe ? ([first, describeError(error).message] as never) : given)
        },
      },
      ...(stream === undefined ? {} : { stream }),
    },
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'id' }),
    genReqId: createRequestIds(),
    childLoggerFactory: logOfRequest,
  }
}

/** 128 random bits in hexadecimal; drawn for many at once, since each request has one, whoever reads it. */
function createRequestIds(): () => string {
  const size = 16
  const drawn = Buffer.allocUnsafe(256 * size)
  let used = drawn.length
  return () => {
    if (used === drawn.length) {
      randomFillSync(drawn)
      used = 0
    }
    used += size
    return drawn.toString('hex', used - size, used)
  }
}

/** One line for each response, where somebody reads them: by its route, since an address may hold a secret. */
export function logResponses(server: FastifyInstance): void {
  if (server.log.level !== 'debug' && server.log.level !== 'trace') return
  server.addHook('onResponse', async (request, reply) => {
    const { method, routeOptions } = request
    const line = {
      method,
      route: routeOptions.url ?? null,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
    }
    request.log.debug(line, 'request')
  })
}

interface ErrorLine {
  type: string
  [more: string]: unknown
  message: string
  stack: string
}

/** What is safe to keep of an error. Database errors quote rows and ORM errors whole statements: those lose their words. */
function describeError(error: unknown, depth: number = 0): ErrorLine {
  if (!(error instanceof Error)) return { type: typeof error, message: 'not an Error', stack: '' }
  const { code, table, constraint } = error as { code?: unknown; table?: unknown; constraint?: unknown }
  const sqlState = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)
  const message = sqlState
    ? `PostgreSQL refused: ${code} ${[table, constraint].filter((one) => typeof one === 'string').join(' ')}`
    : error.message
  const frames = error.stack
    ?.split('\n')
    .filter((line) => line.startsWith('    at '))
    .slice(0, 12)
    .join('\n')
  return {
    type: error.constructor.name,
    ...(typeof code === 'string' ? { code } : {}),
    message,
    ...(error instanceof OutboundError ? { reason: error.reason } : {}),
    stack: frames ?? '',
    ...(error.cause instanceof Error && depth < 4 && !sqlState
      ? { cause: describeError(error.cause, depth + 1) }
      : {}),
  }
}
