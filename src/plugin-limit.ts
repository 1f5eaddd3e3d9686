/**
 * Plugins of others must end what they do at a start within a while: one that does not is named, where the start would else
 * wait without a word. Our own work, which may be large, is under no such limit (`pluginTimeout` is 0 in a host of ours).
 */
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { ConfigError } from './config.ts'
import { namingPlugin } from './refused-plugin.ts'

type Hook = (this: FastifyInstance, done: (error?: Error) => void) => unknown

/** Milliseconds: Fastify's own default. */
const LIMIT = 10_000

/** The plugin, with that limit on its registration and on each of its `onReady` hooks. */
export function limited(name: string, plugin: FastifyPluginAsync): FastifyPluginAsync {
  return async (scope) => {
    const { addHook } = scope
    function addLimited(this: FastifyInstance, at: string, hook: Hook): FastifyInstance {
      return Reflect.apply(addHook, this, [at, at === 'onReady' ? limitedHook(name, hook) : hook])
    }
    Object.assign(scope, { addHook: addLimited })
    await within(`PLUGINS: ${name} has not ended its registration`, async () =>
      namingPlugin(name, async () => scope.register(plugin)),
    )
  }
}

function limitedHook(name: string, hook: Hook): () => Promise<void> {
  return async function (this: FastifyInstance) {
    await within(`PLUGINS: ${name} has not ended an onReady hook`, async () =>
      namingPlugin(name, async () => run(hook, this)),
    )
  }
}

/** By either of the two ways in which a hook may end. */
async function run(hook: Hook, scope: FastifyInstance): Promise<void> {
  if (hook.length === 0) await Reflect.apply(hook, scope, [])
  else
    await new Promise<void>((resolve, reject) => {
      hook.call(scope, (error) => (error ? reject(error) : resolve()))
    })
}

async function within(what: string, work: () => Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ConfigError(`${what} after ${LIMIT / 1000} s.`)), LIMIT)
  })
  try {
    await Promise.race([work(), limit])
  } finally {
    clearTimeout(timer)
  }
}
