/**
 * What holds in every scope of ours, in whosever app it stands: which requests are read at all, and how little the log
 * is told of them. The standalone server has it at its root; in a foreign app, it ends where our routes end.
 */
import type { FastifyInstance, FastifyRegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { OAuthError } from '../protocol/errors.ts'
import { isRepeated } from '../protocol/headers.ts'
import { discreet, serializing } from '../services/discreet-log.ts'
import { serializers } from '../services/log.ts'

const NAME = 'latchkey-house-rules'
const MAX_HEADERS = 100

async function houseRules(fastify: FastifyInstance): Promise<void> {
  // Not async: it runs before every request.
  fastify.addHook('onRequest', ({ raw: { rawHeaders } }, _reply, done) => {
    if (rawHeaders.length > 2 * MAX_HEADERS)
      done(new OAuthError('invalid_request', 'there are too many headers', { status: 431 }))
    else if (isRepeated(rawHeaders, 'host'))
      done(new OAuthError('invalid_request', 'the Host header is repeated'))
    else done()
  })
}

const plugin = fp(houseRules, { name: NAME })
export default plugin

/** Options for a scope of ours below `fastify`: where the log is a foreign app's, no line of it shows an address. */
export function scopeOptions(fastify: FastifyInstance, prefix = ''): FastifyRegisterOptions<object> {
  if (fastify.hasPlugin(NAME)) return { prefix }
  // Serializers may give objects; the declared type knows of strings alone.
  return { prefix, logSerializers: serializers as unknown as Record<string, () => string> }
}

/** Begins a scope that was registered with `scopeOptions`. */
export async function keepHouseRules(scope: FastifyInstance): Promise<void> {
  if (scope.hasPlugin(NAME)) return
  await scope.register(plugin)
  const { childLoggerFactory: makeChild } = scope
  // What theirs makes may have left our serializers out.
  scope.setChildLoggerFactory(function (...given) {
    return serializing(makeChild.call(this, ...given))
  })
  Object.assign(scope, { log: discreet(scope.log) })
}
