/** What a plugin of others' does wrong while it registers: the start ends with who and what, and not with a stack of Fastify's. */
import { ConfigError } from './config.ts'

/** `name` is what the plugin is called, if anything. Throws `ConfigError`. */
export async function namingPlugin(name: string, register: () => Promise<unknown>): Promise<void> {
  const who = name === '' ? 'A plugin' : `The plugin ${name}`
  try {
    await register()
  } catch (error) {
    if (error instanceof ConfigError)
      throw new ConfigError(`${who} is refused: ${error.message}`, { cause: error })
    const { code, message } = error as Error & { code?: unknown }
    if (code !== 'FST_ERR_DUPLICATED_ROUTE') throw error
    const [, method, path] = /'([^']*)' already declared for route '([^']*)'/.exec(message) ?? []
    throw new ConfigError(`${who} routes ${method} ${path}, which is taken: give it another path.`, {
      cause: error,
    })
  }
}
