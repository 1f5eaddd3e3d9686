/**
 * The plugin `latchkey`: the registration list, in reading order, for an app of anybody's. `src/server.ts` is its first
 * user. The app gets `fastify.oauth` and `fastify.requireScope`; all else stays in a scope of ours.
 */
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import fp from 'fastify-plugin'
import account from '../plugins/account/index.ts'
import admin from '../plugins/admin/index.ts'
import authorize from '../plugins/authorize/index.ts'
import code from '../plugins/authorize/code.ts'
import responseModes from '../plugins/authorize/response-modes.ts'
import backChannelLogout from '../plugins/sign-out/backchannel-logout.ts'
import browser from '../plugins/browser.ts'
import clientAuthentication from '../plugins/client-authentication/index.ts'
import consent from '../plugins/consent.ts'
import demo from '../plugins/demo.ts'
import discovery from '../plugins/discovery/index.ts'
import dpop from '../plugins/dpop.ts'
import drain from './http/drain.ts'
import encryption from '../plugins/encryption.ts'
import endSession from '../plugins/sign-out/end-session/index.ts'
import forgotPassword from '../plugins/forgot-password/index.ts'
import frontChannelLogout from '../plugins/sign-out/frontchannel-logout.ts'
import health from '../plugins/health.ts'
import home from '../plugins/home.ts'
import implicit from '../plugins/authorize/implicit.ts'
import interaction from '../plugins/interaction/index.ts'
import invitation from '../plugins/invitation/index.ts'
import introspection from '../plugins/introspection.ts'
import jar from '../plugins/requests/jar.ts'
import jarm from '../plugins/authorize/jarm.ts'
import jwks from '../plugins/jwks.ts'
import jwtIntrospection from '../plugins/jwt-introspection.ts'
import language from '../plugins/language.ts'
import login from '../plugins/login.ts'
import oauth from '../plugins/oauth.ts'
import pages from '../plugins/pages/index.ts'
import mail from '../plugins/mail/index.ts'
import notices from '../plugins/notices/index.ts'
import ownData from '../plugins/own-data/index.ts'
import par from '../plugins/requests/par.ts'
import passkeys from '../plugins/passkeys/index.ts'
import pkcs11 from '../plugins/pkcs11/index.ts'
import passwordLink from '../plugins/password-link.ts'
import passwordSignIn from '../plugins/password-sign-in.ts'
import mutualTls from '../plugins/client-authentication/mutual-tls/index.ts'
import clientSecretJwt from '../plugins/client-authentication/client-secret-jwt.ts'
import federatedJwt from '../plugins/client-authentication/federated-jwt.ts'
import fapi20 from '../plugins/profiles/fapi.ts'
import fapiCiba from '../plugins/profiles/fapi-ciba.ts'
import mcp from '../plugins/profiles/mcp.ts'
import oauth21 from '../plugins/profiles/oauth21.ts'
import privateKeyJwt from '../plugins/client-authentication/private-key-jwt.ts'
import openid from '../plugins/openid.ts'
import clientDocuments from '../plugins/client-documents/index.ts'
import registration from '../plugins/registration/index.ts'
import rar from '../plugins/requests/rar.ts'
import resourceServer from '../plugins/resource-server.ts'
import revocation from '../plugins/revocation.ts'
import authorizationCode from '../plugins/token/grants/authorization-code.ts'
import jwtBearer from '../plugins/token/grants/jwt-bearer/index.ts'
import tokenExchange from '../plugins/token/grants/token-exchange/index.ts'
import deviceCode from '../plugins/token/grants/device-code/index.ts'
import ciba from '../plugins/token/grants/ciba/index.ts'
import clientCredentials from '../plugins/token/grants/client-credentials.ts'
import refreshToken from '../plugins/token/grants/refresh-token.ts'
import signIn from '../plugins/sign-in.ts'
import signingAlgorithms from '../plugins/signing-algorithms.ts'
import sessionManagement from '../plugins/sign-out/session-management.ts'
import secondFactor from '../plugins/second-factor/index.ts'
import setup from '../plugins/setup.ts'
import signUp from '../plugins/sign-up/index.ts'
import subjectTypes from '../plugins/subject-types.ts'
import token from '../plugins/token/index.ts'
import upstreams from '../plugins/upstreams/index.ts'
import userinfo from '../plugins/userinfo.ts'
import { sendError } from './http/errors.ts'
import { keepHouseRules, scopeOptions } from './http/house-rules.ts'
import { ConfigError, parseConfig } from './config.ts'
import { assertRoom, poolOf, warnOfRisks } from './foreign-app.ts'
import type { LatchkeyOptions } from './latchkey-options.ts'
import { importPlugin } from './own-plugins.ts'
import { limited } from './plugin-limit.ts'
import { createPluginSettings, type PluginSettings } from './plugin-settings.ts'
import { openOwnDatabase, type OwnDatabase } from './services/database/own-database.ts'
import { describeStrays } from './setting-names.ts'
import { namingPlugin } from './refused-plugin.ts'

/** Ours, by the names under which they may be left out; each comes after those that it depends on. */
const PLUGINS = [
  drain,
  clientAuthentication,
  privateKeyJwt,
  clientSecretJwt,
  federatedJwt,
  mutualTls,
  subjectTypes,
  pkcs11,
  signingAlgorithms,
  pages,
  browser,
  language,
  interaction,
  login,
  passwordSignIn,
  signIn,
  consent,
  responseModes,
  authorize,
  jarm,
  code,
  jar,
  par,
  rar,
  token,
  dpop,
  fapi20,
  fapiCiba,
  oauth21,
  mcp,
  authorizationCode,
  refreshToken,
  clientCredentials,
  deviceCode,
  tokenExchange,
  jwtBearer,
  openid,
  implicit,
  userinfo,
  encryption,
  endSession,
  backChannelLogout,
  frontChannelLogout,
  sessionManagement,
  account,
  admin,
  ownData,
  mail,
  notices,
  passkeys,
  forgotPassword,
  invitation,
  signUp,
  upstreams,
  home,
  setup,
  passwordLink,
  secondFactor,
  ciba,
  registration,
  clientDocuments,
  introspection,
  jwtIntrospection,
  revocation,
  jwks,
  discovery,
  health,
]
/** Their addresses follow from the issuer by themselves. */
const AT_THE_ROOT = new Set<unknown>([discovery, health])
/** An app has these at its root itself; below a path of ours they are ours. */
const OF_A_HOST = new Set<unknown>([home, drain, health])
/** Without these, nothing shows a page: what depends on them goes with them, and nobody gets a code. */
const OF_PAGES = [pages, browser, authorizationCode]

/**
 * What may be left out, and what each needs.
 * @internal
 */
export function ownPlugins(): readonly { readonly name: string; readonly dependencies: readonly string[] }[] {
  return [...PLUGINS, resourceServer].map((plugin) => ({
    name: nameOf(plugin),
    dependencies: metaOf(plugin).dependencies ?? [],
  }))
}

/** Throws `ConfigError`. For a Fastify instance itself, which it decorates. */
async function latchkey(app: FastifyInstance, options: LatchkeyOptions): Promise<void> {
  const { settings = {}, migrate, without } = options
  const pool = await poolOf(options)
  const config = parseConfig(settings, pool === undefined ? undefined : ['OIDC_ISSUER', 'SECRET_KEY'])
  assertRoom(app, config, options.prefix)
  warnOfRisks(app, config, pool, without)
  const own = await openOwnDatabase(config, { pool, migrate })
  app.addHook('onClose', async () => own.close())
  await install(app, own, options)
}

export interface InstallOptions extends Pick<
  LatchkeyOptions,
  'settings' | 'pages' | 'without' | 'plugins' | 'janitor'
> {
  /** Whether the host is ours alone: then nothing has a scope of its own, and `/` is a page of ours. Default false. */
  standalone?: boolean
  /** Whether the demo is served and registered. Default false. */
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
  const left = leftOut({ ...options, without: [...(options.without ?? []), ...config.WITHOUT] })
  const prefix = config.basePath

  await app.register(oauth, { config, database, settings, janitor, seeds })
  if (!left.has(nameOf(resourceServer))) await app.register(resourceServer)

  const served = PLUGINS.filter((plugin) => !left.has(nameOf(plugin)))
  const house: FastifyPluginAsync = async (scope) => {
    await keepHouseRules(scope)
    if (!standalone) scope.setErrorHandler(sendError)
    for (const plugin of served) {
      if (!standalone && prefix === '' && OF_A_HOST.has(plugin)) continue
      await scope.register(plugin, { standalone, ...(AT_THE_ROOT.has(plugin) ? {} : { prefix }) })
    }
    for (const [name, plugin] of await pluginsOfOthers(config.PLUGINS, options)) {
      // Within a scope of its own, so that the prefix also holds for a plugin that breaks out of encapsulation.
      const mount: FastifyPluginAsync = async (own) => namingPlugin(name, async () => own.register(plugin))
      await scope.register(standalone ? limited(name, plugin) : mount, { prefix })
    }
    if (demonstrates && !left.has(nameOf(resourceServer))) await scope.register(demo, { prefix })
  }
  await app.register(standalone ? fp(house) : house, scopeOptions(app))
}

/** Names of the plugins of ours that are not registered. Throws `ConfigError` for a name of none. */
function leftOut({ without = [], pages: shown = true }: InstallOptions): ReadonlySet<string> {
  const all = [...PLUGINS, resourceServer]
  const unknown = without.find((name) => !all.some((plugin) => nameOf(plugin) === name))
  if (unknown !== undefined) throw new ConfigError(`There is no plugin ${unknown} to leave out.`)
  const left = new Set(without)
  if (shown) {
    assertNoneIsNeeded(left, all)
    return left
  }
  for (const plugin of OF_PAGES) left.add(nameOf(plugin))
  for (const plugin of all)
    if (metaOf(plugin).dependencies?.some((one) => left.has(one))) left.add(nameOf(plugin))
  return left
}

function assertNoneIsNeeded(left: ReadonlySet<string>, all: readonly object[]): void {
  for (const plugin of all) {
    const needed = metaOf(plugin).dependencies?.find((one) => left.has(one))
    if (needed !== undefined && !left.has(nameOf(plugin)))
      throw new ConfigError(`${nameOf(plugin)} needs the plugin ${needed}: leave out both, or none.`)
  }
}

/** The modules of the setting PLUGINS, then what the app gave, each with what it is called. */
async function pluginsOfOthers(
  specifiers: readonly string[],
  { plugins = [] }: InstallOptions,
): Promise<readonly (readonly [name: string, plugin: FastifyPluginAsync])[]> {
  const named: [string, FastifyPluginAsync][] = []
  for (const specifier of specifiers) named.push([specifier, (await importPlugin(specifier)).plugin])
  for (const plugin of plugins) named.push([nameOf(plugin), plugin as FastifyPluginAsync])
  return named
}

function metaOf(plugin: object): { name?: string; dependencies?: string[] } {
  return (plugin as Record<symbol, object | undefined>)[Symbol.for('plugin-meta')] ?? {}
}

function nameOf(plugin: object): string {
  return metaOf(plugin).name ?? ''
}

export default latchkey
