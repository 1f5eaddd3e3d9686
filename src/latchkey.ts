/**
 * The plugin `latchkey`: everything, registered in an app of anybody's. `src/server.ts` is its first user. The app gets
 * `fastify.oauth` and `fastify.requireScope`; all else stays in a scope of ours.
 */
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import fp from 'fastify-plugin'
import demo from '../plugins/demo.ts'
import oauth from '../plugins/oauth/index.ts'
import resourceServer, { refuseScopes } from '../plugins/resource-server.ts'
import { kernelOf } from './http/kernel-of.ts'
import { sendError } from './http/errors.ts'
import { keepHouseRules, scopeOptions } from './http/house-rules.ts'
import { parseConfig } from './config.ts'
import { assertOptions, assertRoom, poolOf, warnOfRisks } from './mounting/foreign-app.ts'
import type { LatchkeyOptions } from './mounting/latchkey-options.ts'
import { importPlugin } from './mounting/plugin-modules.ts'
import { mounted } from './mounting/mounted-plugin.ts'
import { AT_THE_ROOT, leftOut, nameOf, OF_A_HOST, PLUGINS } from './plugin-list.ts'
import { createPluginSettings, type PluginSettings } from './settings/plugin-settings.ts'
import { mayHaveSecrets } from './services/demo-content.ts'
import { openOwnDatabase, type OwnDatabase } from './services/database/own-database.ts'
import { describeStrays } from './settings/setting-names.ts'

/** Throws `ConfigError`. For a Fastify instance itself, which it decorates. */
async function latchkey(app: FastifyInstance, options: LatchkeyOptions): Promise<void> {
  assertOptions(options)
  const { settings = {}, migrate, without } = options
  const pool = await poolOf(options)
  const config = parseConfig(settings, pool === undefined ? undefined : ['OIDC_ISSUER', 'SECRET_KEY'])
  assertRoom(app, config, options.prefix)
  if (options.settings === undefined)
    app.log.warn(
      `latchkey: it has no settings, so it is the issuer ${config.issuer}, for this machine alone${pool === undefined ? `, with a PostgreSQL of its own in ${config.DATA_DIR}` : ''}`,
    )
  warnOfRisks(app, config, pool, without)
  const own = await openOwnDatabase(config, {
    pool,
    migrate,
    warn: (about, text) => app.log.warn(about, `latchkey: ${text}`),
  })
  app.addHook('onClose', async () => own.close())
  await install(app, own, options)
}

export interface InstallOptions extends Pick<
  LatchkeyOptions,
  'settings' | 'pages' | 'without' | 'plugins' | 'janitor'
> {
  /** Whether the host is ours alone: then nothing has a scope of its own, and `/` is a page of ours. Default false. */
  standalone?: boolean
  /** Whether the demo is served and registered, where its apps may have their secrets. Default false. */
  demonstrates?: boolean
  /** Whether SEED_FILE is applied. Default true. */
  seeds?: boolean
  /** Whether names that are no settings are told of, where all is well. Default true. */
  strays?: boolean
}

/** Registers everything, and says which names are no settings: those of plugins are known then. */
export async function install(
  app: FastifyInstance,
  own: OwnDatabase,
  options: InstallOptions,
): Promise<void> {
  const { settings = {}, strays = true, standalone = false } = options
  const pluginSettings = createPluginSettings(settings)
  const tell = (): void => {
    const head = standalone ? '' : 'latchkey: '
    for (const stray of describeStrays(settings, pluginSettings.names)) app.log.warn(`${head}${stray}`)
  }
  try {
    await registerAll(app, own, pluginSettings, options)
  } catch (error) {
    tell()
    throw error
  }
  // Plugins of the app's own may come after ours.
  if (strays) app.addHook('onReady', async () => tell())
}

/** What the app uses, what is served, what others add, what a start applies. */
async function registerAll(
  app: FastifyInstance,
  { config, database }: OwnDatabase,
  settings: PluginSettings,
  options: InstallOptions,
): Promise<void> {
  const { standalone = false, janitor = true, demonstrates = false, seeds = true } = options
  const left = leftOut(options, config.WITHOUT)
  const prefix = config.basePath

  await app.register(oauth, { config, database, settings, janitor, seeds })
  if (left.has(nameOf(resourceServer))) refuseScopes(app)
  else await app.register(resourceServer)

  const served = PLUGINS.filter((plugin) => !left.has(nameOf(plugin)))
  const house: FastifyPluginAsync = async (scope) => {
    await keepHouseRules(scope)
    if (!standalone) scope.setErrorHandler(sendError)
    for (const plugin of served) {
      if (!standalone && prefix === '' && OF_A_HOST.has(plugin)) continue
      await scope.register(plugin, { standalone, ...(AT_THE_ROOT.has(plugin) ? {} : { prefix }) })
    }
    for (const [name, plugin] of await pluginsOfOthers(config.PLUGINS, options))
      await scope.register(mounted(name, plugin, { isLimited: standalone }), { prefix })
    const isGuarded = !left.has(nameOf(resourceServer))
    if (demonstrates && isGuarded && mayHaveSecrets(kernelOf(app))) await scope.register(demo, { prefix })
  }
  await app.register(standalone ? fp(house) : house, scopeOptions(app))
}

/** The modules of the setting PLUGINS, then what the app gave, each with what it is called. */
async function pluginsOfOthers(
  specifiers: readonly string[],
  { plugins = [] }: InstallOptions,
): Promise<readonly (readonly [name: string, plugin: FastifyPluginAsync])[]> {
  const named: [string, FastifyPluginAsync][] = []
  for (const specifier of specifiers) named.push([specifier, (await importPlugin(specifier)).plugin])
  for (const [at, plugin] of plugins.entries())
    named.push([calledOf(plugin) ?? `plugins[${at}]`, plugin as FastifyPluginAsync])
  return named
}

/** What a module exports without a name is called `default`, and says nothing. */
function calledOf(plugin: { readonly name: string }): string | undefined {
  return [nameOf(plugin), plugin.name].find((name) => name !== '' && name !== 'default')
}

export default latchkey
