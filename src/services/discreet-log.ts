/**
 * Logs of somebody else's, which are told of requests, answers and errors no more than ours is: by serializers where they take those of
 * a child, as pino does, and before each call where they do not.
 */
import type { FastifyBaseLogger } from 'fastify'
import { serializers } from './log.ts'

type Serializers = Readonly<Record<string, unknown>>
type Described = Readonly<Record<string, unknown>>

/** Where pino keeps those of a logger. */
const OF_PINO = Symbol.for('pino.serializers')

/** A log of theirs that tells of errors as ours does. */
export function discreet(log: FastifyBaseLogger): FastifyBaseLogger {
  return serializing(log.child({}, { serializers: { err: serializers.err } }), ['err'])
}

/** `log` as it is where it has these serializers of ours; else one before it that has. */
export function serializing(
  log: FastifyBaseLogger,
  names: readonly (keyof typeof serializers)[] = ['err', 'req', 'res'],
): FastifyBaseLogger {
  const taken = (log as { [OF_PINO]?: Serializers })[OF_PINO]
  if (taken !== undefined && names.every((name) => taken[name] === serializers[name])) return log

  function described(values: readonly unknown[]): readonly unknown[] {
    const [first, text, ...more] = values
    if (first instanceof Error) return described([{ err: first }, text ?? first.message, ...more])
    const rest = values.slice(1).map((one) => (one instanceof Error ? serializers.err(one) : one))
    if (typeof first !== 'object' || first === null) return [first, ...rest]
    const told: Record<string, unknown> = { ...first }
    for (const name of names)
      if (told[name] instanceof Object) told[name] = serializers[name](told[name] as never)
    // A text of their own may be the error's, as it is.
    const { err } = first as Described
    if (err instanceof Error && text === err.message) rest[0] = (told['err'] as Error).message
    return [told, ...rest]
  }

  // Not before `log` itself, which may be frozen.
  return new Proxy({} as FastifyBaseLogger, {
    has: (_none, name) => name in log,
    set: (_none, name, value) => Reflect.set(log, name, value),
    get(_none, name) {
      const member: unknown = Reflect.get(log, name)
      if (typeof member !== 'function') return member
      if (name === 'child')
        return (...given: unknown[]) =>
          serializing(Reflect.apply(member, log, given) as FastifyBaseLogger, names)
      return (...given: unknown[]): unknown => Reflect.apply(member, log, described(given))
    },
  })
}
