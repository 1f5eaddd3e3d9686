/** What a plugin of others' does wrong at the start: that ends with who and what, and not with a stack of Fastify's. */
import { ConfigError } from '../config.ts'
import { OAuthError } from '../protocol/errors.ts'

/**
 * `name` is what the plugin is called. Throws `ConfigError` for what it registers and must not, and `PluginError` for whatever else
 * it throws, with that as its `cause`.
 */
export async function namingPlugin(name: string, work: () => Promise<unknown>): Promise<void> {
  const who = `The plugin ${name}`
  try {
    await work()
  } catch (error) {
    // A plugin may bring a copy of ours along.
    if (error instanceof OAuthError || (error instanceof Error && error.name === 'ConfigError'))
      throw new ConfigError(`${who} is refused: ${error.message}`, { cause: error })
    const { code, message } = error as Partial<Error> & { code?: unknown }
    if (code !== 'FST_ERR_DUPLICATED_ROUTE') throw new PluginError(who, error)
    const [, method, path] = /'([^']*)' already declared for route '([^']*)'/.exec(message ?? '') ?? []
    throw new ConfigError(`${who} routes ${method} ${path}, which is taken: give it another path.`, {
      cause: error,
    })
  }
}

/** Whatever it was that it did not reach, the stack is that of what was thrown: it leads to the line of the plugin. */
class PluginError extends Error {
  override readonly name = 'PluginError'

  constructor(who: string, thrown: unknown) {
    const { message, stack } = thrown instanceof Error ? thrown : new Error(String(thrown))
    super(`${who} failed at the start: ${message}`, { cause: thrown })
    this.stack = `${who} failed at the start: ${stack ?? message}`
  }
}
