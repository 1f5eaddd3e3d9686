/** A plugin of others' that routes what is routed already: the start ends with who and what, and not with a stack of Fastify's. */
import { ConfigError } from './config.ts'

/** `name` is what the plugin is called, if anything. Throws `ConfigError`. */
export async function refusingTakenRoutes(name: string, register: () => Promise<unknown>): Promise<void> {
  try {
    await register()
  } catch (error) {
    const { code, message } = error as Error & { code?: unknown }
    if (code !== 'FST_ERR_DUPLICATED_ROUTE') throw error
    const [, method, path] = /'([^']*)' already declared for route '([^']*)'/.exec(message) ?? []
    const who = name === '' ? 'A plugin' : `The plugin ${name}`
    throw new ConfigError(`${who} routes ${method} ${path}, which is taken: give it another path.`, {
      cause: error,
    })
  }
}
