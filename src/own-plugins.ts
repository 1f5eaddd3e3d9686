/** Plugins of an operator: modules that the setting PLUGINS names. */
import type { FastifyPluginAsync } from 'fastify'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigError } from './config.ts'
import { offerOwnPackage } from './services/own-package.ts'

/** A module of the PLUGINS setting: a path from the working directory, or a package installed there. Throws `ConfigError`. */
export async function importPlugin(specifier: string): Promise<FastifyPluginAsync> {
  offerOwnPackage()
  const isPath = /^[./]/.test(specifier) || existsSync(resolve(specifier))
  try {
    const here = pathToFileURL(resolve('package.json'))
    const url = isPath
      ? pathToFileURL(resolve(specifier))
      : pathToFileURL(createRequire(here).resolve(specifier))
    const { default: plugin } = (await import(url.href)) as { default?: unknown }
    if (typeof plugin === 'function') return plugin as FastifyPluginAsync
  } catch (cause) {
    throw new ConfigError(
      `PLUGINS: ${specifier} cannot be loaded (${(cause as Error).message.split('\n')[0]}).`,
      { cause },
    )
  }
  throw new ConfigError(`PLUGINS: ${specifier} has no default export that is a Fastify plugin.`)
}
