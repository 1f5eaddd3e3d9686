/** The log of one request, which is made with its first line: most requests leave none, and making one is not free. */
import type { FastifyBaseLogger, FastifyServerOptions } from 'fastify'

const METHODS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent', 'child'] as const

class RequestLog {
  readonly #make: Parameters<FastifyBaseLogger['child']>
  readonly #parent: FastifyBaseLogger
  #made: FastifyBaseLogger | undefined

  constructor(parent: FastifyBaseLogger, make: Parameters<FastifyBaseLogger['child']>) {
    this.#parent = parent
    this.#make = make
  }

  get made(): FastifyBaseLogger {
    return (this.#made ??= this.#parent.child(...this.#make))
  }

  get level(): string {
    return this.made.level
  }

  set level(level: string) {
    this.made.level = level
  }
}

for (const method of METHODS) {
  Object.defineProperty(RequestLog.prototype, method, {
    value(this: RequestLog, ...values: unknown[]) {
      return (this.made[method] as (...all: unknown[]) => unknown)(...values)
    },
  })
}

/** For Fastify's `childLoggerFactory`. */
export const logOfRequest: NonNullable<FastifyServerOptions['childLoggerFactory']> = (parent, ...make) =>
  new RequestLog(parent, [make[0], make[1]]) as unknown as FastifyBaseLogger
