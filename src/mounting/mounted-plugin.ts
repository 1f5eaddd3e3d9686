/**
 * Plugins of others, each in a scope of its own: what one throws while the server starts names it. In a host of ours each must also end
 * what it does there within a while, where the start would else wait without a word; our own work, which may be large, is under no such
 * limit (`pluginTimeout` is 0).
 */
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { ConfigError } from '../config.ts'
import { namingPlugin } from './refused-plugin.ts'

type Hook = (this: FastifyInstance, done: (error?: Error) => void) => unknown
type Work = () => Promise<unknown>

/** Milliseconds: Fastify's own default. */
const LIMIT = 10_000

/** The plugin, in a scope so that a prefix also holds for one that breaks out of encapsulation. `name` is what it is called. */
export function mounted(
  name: string,
  plugin: FastifyPluginAsync,
  { isLimited }: { isLimited: boolean },
): FastifyPluginAsync {
  const attend = async (what: string, work: Work): Promise<void> => {
    const named = async (): Promise<void> => namingPlugin(name, work)
    await (isLimited ? within(`PLUGINS: ${name} has not ended ${what}`, named) : named())
  }
  return async (scope) => {
    const { addHook } = scope
    function addAttended(this: FastifyInstance, at: string, hook: Hook): FastifyInstance {
      const attended = async function (this: FastifyInstance): Promise<void> {
        await attend('an onReady hook', async () => run(hook, this))
      }
      return Reflect.apply(addHook, this, [at, at === 'onReady' ? attended : hook])
    }
    Object.assign(scope, { addHook: addAttended })
    await attend('its registration', async () => scope.register(plugin))
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

async function within(what: string, work: Work): Promise<void> {
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
