/**
 * Reads settings by the schemas of `settings/`, once, and checks what they are to each other. What it refuses is
 * refused in one sentence that names the setting.
 */
import { isIP } from 'node:net'
import { withHost } from './protocol/connection-url.ts'
import { isLoopbackHost } from './protocol/redirect-uri.ts'
import { ConfigError, parseSetting, settingsOf, type SettingValues } from './settings/setting-value.ts'
import { assertSettings, DATABASE_URLS } from './settings/checks.ts'
import { Settings } from './settings/index.ts'
import { LEAST_HASH_MEMORY } from './settings/units.ts'

export { ConfigError, type SettingValues } from './settings/setting-value.ts'

/** Settings as the server uses them: parsed, with defaults, and with what follows from them. */
export type Config = Readonly<Settings> & {
  /** The issuer identifier, without a trailing slash (RFC 8414 §2). */
  readonly issuer: string
  /** The issuer's path, `''` at the root: every endpoint lies below it. */
  readonly basePath: string
  /** A production start takes no defaults for what must be chosen, and seeds no demo. */
  readonly production: boolean
  /** The file that SECRET_KEY was read from, where nobody has set it. */
  readonly secretKeyFile?: string
}

/** Where a server listens whose PORT is not set: at the first of these that is free. */
export const DEFAULT_PORTS = { first: 3000, last: 3099 } as const

const REQUIRED = ['OIDC_ISSUER', 'DATABASE_URL', 'SECRET_KEY'] as const

/**
 * Parses settings by their names. Unknown names are ignored (`settings/setting-names.ts` tells of them). A production start needs
 * those that are `required`. Throws `ConfigError`.
 */
export function parseConfig(
  values: SettingValues,
  required: readonly (typeof REQUIRED)[number][] = REQUIRED,
): Config {
  const parsed: Record<string, unknown> = {}
  for (const [name, schema] of settingsOf(Settings)) {
    const value = parseSetting(name, schema, values)
    if (value !== undefined) parsed[name] = value
  }
  // MCP asks for it, and people are asked whoever comes.
  const isMcp = (parsed['OIDC_PROFILE'] as readonly string[]).includes('mcp')
  if (isMcp && values['OIDC_CLIENT_METADATA_DOCUMENTS'] === undefined)
    parsed['OIDC_CLIENT_METADATA_DOCUMENTS'] = ['any']
  for (const name of DATABASE_URLS) {
    const url = parsed[name]
    if (typeof url === 'string') parsed[name] = withHost(url)
  }
  const settings = parsed as Settings
  assertSettings(settings, values)
  if (settings.METRICS_PORT === (settings.PORT ?? DEFAULT_PORTS.first))
    throw new ConfigError('METRICS_PORT must be another port than PORT.')
  const issuer = settings.OIDC_ISSUER ?? `http://localhost:${settings.PORT ?? DEFAULT_PORTS.first}`
  const { basePath, loopback } = inspectIssuer(issuer)
  const production = settings.NODE_ENV === 'production' || !isLoopbackHost(settings.HOST) || !loopback
  if (production) assertProduction(settings, issuer, required)
  return Object.freeze({ ...settings, issuer, basePath, production })
}

function inspectIssuer(issuer: string): { basePath: string; loopback: boolean } {
  const refuse = (why: string) =>
    new ConfigError(`OIDC_ISSUER ${why}; it is ${JSON.stringify(issuer.slice(0, 200))}.`)
  if (!URL.canParse(issuer)) throw refuse('must be an absolute URL')
  const url = new URL(issuer)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refuse('must be an https URL')
  if (/[?#]/.test(issuer) || url.username !== '')
    throw refuse('must have no query, fragment or user name (RFC 8414 section 2)')
  if (issuer.endsWith('/')) throw refuse('must not end with a slash, since clients compare it as a string')
  if (issuer !== url.href && issuer !== url.origin)
    throw refuse(`must be in normal form, that is ${url.href.replace(/\/$/, '')}`)
  const loopback = isLoopbackHost(url.hostname)
  if (url.protocol === 'http:' && !loopback) throw refuse('must be https, unless it is this machine')
  return { basePath: url.pathname === '/' ? '' : url.pathname, loopback }
}

function assertProduction(
  settings: Settings,
  issuer: string,
  required: readonly (keyof typeof settings)[],
): void {
  const why =
    settings.NODE_ENV === 'production'
      ? 'because NODE_ENV is production'
      : isLoopbackHost(settings.HOST)
        ? 'because OIDC_ISSUER is not this machine'
        : `because HOST is ${isIP(settings.HOST) ? settings.HOST : 'not this machine'}`
  const missing = required.filter((name) => settings[name] === undefined)
  if (missing.length > 0)
    throw new ConfigError(`${missing.join(' and ')} must be set, ${why}: this is a production start.`)
  if (!issuer.startsWith('https:'))
    throw new ConfigError(`OIDC_ISSUER must be an https URL, ${why}: this is a production start.`)
  if (settings.OIDC_PASSWORD_HASH_MEMORY < LEAST_HASH_MEMORY)
    throw new ConfigError(
      `OIDC_PASSWORD_HASH_MEMORY must be ${LEAST_HASH_MEMORY} or more, ${why}: this is a production start.`,
    )
}

/** The settings with their defaults and explanations, for `.env.example` and the documentation. */
export function describeSettings(): { name: string; default: unknown; description: string }[] {
  return settingsOf(Settings).map(([name, { default: fallback, description }]) => {
    return { name, default: fallback, description }
  })
}
