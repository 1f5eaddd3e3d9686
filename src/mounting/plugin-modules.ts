/** Plugins of an operator: modules that the setting PLUGINS names. */
import type { FastifyPluginAsync } from 'fastify'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { TObject } from 'typebox'
import { ConfigError } from '../config.ts'
import { isObject } from '../protocol/json.ts'
import { offerOwnPackage } from '../services/own-package.ts'

export interface PluginModule {
  readonly plugin: FastifyPluginAsync
  /** What it exports as `settings`, the schema of its own: so they are known of before it runs. */
  readonly settings?: TObject
}

/** A module of the PLUGINS setting: a path from the working directory, or a package installed there. Throws `ConfigError`. */
export async function importPlugin(specifier: string): Promise<PluginModule> {
  offerOwnPackage()
  const isPath = /^[./]/.test(specifier) || existsSync(resolve(specifier))
  try {
    const here = pathToFileURL(resolve('package.json'))
    const url = isPath
      ? pathToFileURL(resolve(specifier))
      : pathToFileURL(createRequire(here).resolve(specifier))
    const { default: plugin, settings } = (await import(url.href)) as {
      default?: unknown
      settings?: unknown
    }
    if (typeof plugin === 'function')
      return { plugin: plugin as FastifyPluginAsync, ...(isSchema(settings) ? { settings } : {}) }
  } catch (cause) {
    throw new ConfigError(
      `PLUGINS: ${specifier} cannot be loaded (${(cause as Error).message.split('\n')[0]}).`,
      { cause },
    )
  }
  throw new ConfigError(`PLUGINS: ${specifier} has no default export that is a Fastify plugin.`)
}

function isSchema(value: unknown): value is TObject {
  return isObject(value) && isObject(value['properties'])
}
