/**
 * Reads settings by the schemas of `settings.ts`, once, and checks what they are to each other. What it refuses is
 * refused in one sentence that names the setting.
 */
import { isIP } from 'node:net'
import { parseSender, parseSmtpUrl } from './protocol/mail-address.ts'
import { isLoopbackHost } from './protocol/redirect-uri.ts'
import { parseStatementIssuer } from './protocol/software-statement.ts'
import { domainOf } from './protocol/upstream-information.ts'
import { ConfigError, parseSetting, settingsOf, type SettingValues } from './setting-value.ts'
import { LEAST_HASH_MEMORY, Settings } from './settings.ts'

export { ConfigError, type SettingValues } from './setting-value.ts'

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
 * Parses settings by their names. Unknown names are ignored (`setting-names.ts` tells of them). A production start needs
 * those that are `required`. Throws `ConfigError`.
 */
export function parseConfig(
  values: SettingValues,
  required: readonly (typeof REQUIRED)[number][] = REQUIRED,
): Config {
  const parsed: Record<string, unknown> = {}
  for (const [name, schema] of settingsOf(Settings)) {
    const value = parseSetting(name, schema, values[name])
    if (value !== undefined) parsed[name] = value
  }
  // MCP asks for it, and people are asked whoever comes.
  const isMcp = (parsed['OIDC_PROFILE'] as readonly string[]).includes('mcp')
  if (isMcp && values['OIDC_CLIENT_METADATA_DOCUMENTS'] === undefined)
    parsed['OIDC_CLIENT_METADATA_DOCUMENTS'] = ['any']
  const settings = parsed as Settings
  for (const name of ['DATABASE_URL', 'DATABASE_REPLICA_URL'] as const)
    assertDatabaseUrl(name, settings[name])
  assertTrustedProxies(settings.TRUSTED_PROXIES)
  assertOrigins(settings.UNSAFE_OUTBOUND_ORIGINS)
  assertCertificates(settings)
  assertBreachService(settings)
  assertMail(settings)
  assertSignUp(settings.OIDC_SIGN_UP)
  assertDocumentHosts(settings.OIDC_CLIENT_METADATA_DOCUMENTS)
  assertRegistration(settings)
  assertStatementIssuers(settings)
  assertProfiles(settings, values)
  assertBrandLinks(settings)
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

/** What is wrong with it is not quoted: it may hold a password. */
function assertDatabaseUrl(name: string, url: string | undefined): void {
  if (url !== undefined && !(/^postgres(?:ql)?:/.test(url) && URL.canParse(url)))
    throw new ConfigError(`${name} must be a URL that begins with postgresql://.`)
}

/** Not everybody: who could name any address would never be throttled. */
function assertTrustedProxies(proxies: readonly string[]): void {
  for (const proxy of proxies) {
    const [address = '', length, more] = proxy.split('/')
    const bits = address.includes('%') ? 0 : ({ 4: 32, 6: 128 }[isIP(address)] ?? 0)
    const isNetwork = length === undefined || (/^[1-9]\d{0,2}$/.test(length) && Number(length) <= bits)
    if (bits === 0 || !isNetwork || more !== undefined)
      throw new ConfigError(
        `TRUSTED_PROXIES must list addresses or networks such as 10.0.0.0/8; it has ${JSON.stringify(proxy.slice(0, 80))}.`,
      )
  }
}

/** An address with a path would say more than it does. */
function assertOrigins(origins: readonly string[]): void {
  for (const origin of origins) {
    const url = URL.parse(origin)
    if (url?.origin !== origin || !/^https?:$/.test(url.protocol))
      throw new ConfigError(
        `UNSAFE_OUTBOUND_ORIGINS must list origins such as http://10.0.0.5:8080; it has ${JSON.stringify(origin.slice(0, 80))}.`,
      )
  }
}

function assertCertificates(settings: Settings): void {
  const { CLIENT_CERTIFICATE_HEADER: header, OIDC_MTLS_ORIGIN: origin } = settings
  if (settings.CLIENT_CERTIFICATE_AUTHORITIES === 'proxy' && header === undefined)
    throw new ConfigError('CLIENT_CERTIFICATE_AUTHORITIES is proxy: that needs CLIENT_CERTIFICATE_HEADER.')
  if (origin !== undefined && (URL.parse(origin)?.origin !== origin || !origin.startsWith('https://')))
    throw new ConfigError(
      `OIDC_MTLS_ORIGIN must be an origin such as https://mtls.example.com; it is ${JSON.stringify(origin.slice(0, 80))}.`,
    )
}

/** Both, or none. What is wrong with SMTP_URL is not quoted: it may hold a password. */
function assertMail({ SMTP_URL: url, MAIL_FROM: from }: Settings): void {
  if ((url === undefined) !== (from === undefined))
    throw new ConfigError(
      url === undefined
        ? 'SMTP_URL must be set where MAIL_FROM is: set both, or none.'
        : 'MAIL_FROM must be set where SMTP_URL is: set both, or none.',
    )
  if (url !== undefined && parseSmtpUrl(url) === null)
    throw new ConfigError(
      'SMTP_URL must be an address such as smtps://user:password@mail.example.com, or smtp:// with the same; what is special in a password is percent-encoded.',
    )
  if (from !== undefined && parseSender(from) === null)
    throw new ConfigError(
      `MAIL_FROM must be an address such as Example <login@example.com>; it is ${JSON.stringify(from.slice(0, 80))}.`,
    )
}

function assertSignUp(given: readonly string[]): void {
  const isSwitch = given.length === 1 && (given[0] === 'off' || given[0] === 'on')
  const isDomain = (text: string): boolean =>
    /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(domainOf(`anybody@${text}`))
  const odd = given.find((one) => one.includes('@') || !isDomain(one))
  if (!isSwitch && (odd !== undefined || given.length === 0))
    throw new ConfigError(
      `OIDC_SIGN_UP must be off, on, or mail domains with commas between, such as example.com,example.org; it has ${JSON.stringify((odd ?? '').slice(0, 80))}.`,
    )
}

function assertDocumentHosts(given: readonly string[]): void {
  if (given.length === 1 && (given[0] === 'off' || given[0] === 'any')) return
  const isHost = (text: string): boolean =>
    !/^(?:off|any)$/.test(text) && URL.parse(`https://${text}/`)?.host === text
  const odd = given.find((text) => !isHost(text))
  if (odd !== undefined || given.length === 0)
    throw new ConfigError(
      `OIDC_CLIENT_METADATA_DOCUMENTS must be off, any, or hosts with commas between, such as app.example,apps.example:8443; it has ${JSON.stringify((odd ?? '').slice(0, 80))}.`,
    )
}

/** Whoever can change the keys on their way can say anything of any app. */
function assertStatementIssuers({
  OIDC_SOFTWARE_STATEMENT_ISSUERS: pairs,
  UNSAFE_OUTBOUND_ORIGINS: unsafe,
}: Settings): void {
  const isGood = (pair: string): boolean => {
    const url = URL.parse(parseStatementIssuer(pair)?.jwksUri ?? '')
    return url !== null && (url.protocol === 'https:' || unsafe.includes(url.origin))
  }
  const odd = pairs.find((pair) => !isGood(pair))
  if (odd !== undefined)
    throw new ConfigError(
      `OIDC_SOFTWARE_STATEMENT_ISSUERS must have pairs of an issuer and the https address of its keys, such as https://directory.example https://directory.example/jwks; it has ${JSON.stringify(odd.slice(0, 80))}.`,
    )
}

/** The audit log tells which of them are used. */
function assertRegistration({
  OIDC_REGISTRATION: mode,
  OIDC_REGISTRATION_UNUSED: unused,
  OIDC_AUDIT_EXPIRE: kept,
}: Settings): void {
  if (mode !== 'off' && kept > 0 && unused > kept)
    throw new ConfigError(
      `OIDC_REGISTRATION_UNUSED must be at most OIDC_AUDIT_EXPIRE, which is ${kept} seconds: the audit log tells what is used.`,
    )
}

/** What profiles make of settings; what they make of clients is theirs (`plugins/profiles/`). */
const LOCKED: Readonly<Record<string, readonly LockedSetting[]>> = {
  'fapi-2.0': [
    { name: 'OIDC_CODE_EXPIRE', most: 60 },
    { name: 'OIDC_IMPLICIT', only: false },
  ],
  mcp: [
    { name: 'OIDC_CODE_EXPIRE', most: 600 },
    { name: 'OIDC_IMPLICIT', only: false },
  ],
  'oauth-2.1': [
    { name: 'OIDC_CODE_EXPIRE', most: 600 },
    { name: 'OIDC_IMPLICIT', only: false },
  ],
}

interface LockedSetting {
  readonly name: string
  readonly most?: number
  readonly only?: boolean
}

/** What nobody has set is as it must be by the profile alone. */
function assertProfiles(settings: Settings, given: SettingValues): void {
  const values: Readonly<Record<string, unknown>> = settings
  for (const profile of settings.OIDC_PROFILE)
    for (const { name, most, only } of LOCKED[profile] ?? []) {
      if (given[name] === undefined) continue
      const value = values[name]
      if (most !== undefined && Number(value) > most)
        throw new ConfigError(`${name} must be ${most} at most: OIDC_PROFILE ${profile} needs it.`)
      if (only !== undefined && value !== only)
        throw new ConfigError(`${name} must be ${String(only)}: OIDC_PROFILE ${profile} needs it.`)
    }
}

/** They stand on every page. */
function assertBrandLinks(settings: Settings): void {
  for (const name of ['BRAND_SUPPORT_URL', 'BRAND_POLICY_URL', 'BRAND_TERMS_URL'] as const) {
    const link = settings[name]
    const mails = name === 'BRAND_SUPPORT_URL'
    const form = mails ? /^(?:https?:\/\/|mailto:.)/i : /^https?:\/\//i
    // Its form too, as pages link to nothing else: what is left out of an address is put in by browsers alone.
    if (link !== undefined && !(form.test(link) && URL.canParse(link)))
      throw new ConfigError(
        `${name} must be ${mails ? 'an https or mailto' : 'an https'} address; it is ${JSON.stringify(link.slice(0, 80))}.`,
      )
  }
}

/** What could not be asked would keep nobody from anything, and nobody would hear of it. */
function assertBreachService({ OIDC_BREACHED_PASSWORDS: service, UNSAFE_OUTBOUND_ORIGINS }: Settings): void {
  if (service === 'off' || service === 'on') return
  const url = URL.parse(service)
  if (url === null || (url.protocol !== 'https:' && !UNSAFE_OUTBOUND_ORIGINS.includes(url.origin)))
    throw new ConfigError(
      `OIDC_BREACHED_PASSWORDS must be an https URL, or of an origin in UNSAFE_OUTBOUND_ORIGINS; it is ${JSON.stringify(service.slice(0, 80))}.`,
    )
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
