/** What settings must be that no schema says: addresses, hosts, and what one is to another. */
import { isIP } from 'node:net'
import { parseSender, parseSmtpUrl } from '../protocol/mail-address.ts'
import { percentDecoded } from '../protocol/percent-encoding.ts'
import { parseStatementIssuer } from '../protocol/software-statement.ts'
import { domainOf } from '../protocol/upstream-information.ts'
import { connectionOf } from '../protocol/connection-url.ts'
import { ConfigError, type SettingValues } from './setting-value.ts'
import type { Settings } from './index.ts'
import { assertProfiles } from './profile-locks.ts'
import { ldapConfig } from './ldap.ts'
import { parseWebhook } from './webhooks.ts'

/** The settings that are addresses of databases. */
export const DATABASE_URLS = ['DATABASE_URL', 'DATABASE_REPLICA_URL'] as const

/** `given`: by whoever set them, without defaults. Throws `ConfigError` for the first that is wrong. */
export function assertSettings(settings: Settings, given: SettingValues): void {
  for (const name of DATABASE_URLS) assertDatabaseUrl(name, settings[name])
  assertTrustedProxies(settings.TRUSTED_PROXIES)
  assertOrigins(settings.UNSAFE_OUTBOUND_ORIGINS)
  assertProxy(settings.OUTBOUND_PROXY)
  assertCertificates(settings)
  assertBreachService(settings)
  assertMail(settings)
  assertSignUp(settings.OIDC_SIGN_UP)
  assertDocumentHosts(settings.OIDC_CLIENT_METADATA_DOCUMENTS)
  assertRegistration(settings)
  assertStatementIssuers(settings)
  assertWebhooks(settings)
  ldapConfig(settings)
  assertProfiles(settings, given)
  assertBrandLinks(settings)
}

/** What is wrong with it is not quoted: it may hold a password. */
function assertDatabaseUrl(name: string, url: string | undefined): void {
  if (url !== undefined && !(/^postgres(?:ql)?:/.test(url) && URL.canParse(url)))
    throw new ConfigError(`${name} must be a URL that begins with postgresql://.`)
  try {
    if (url !== undefined) connectionOf(url)
  } catch (error) {
    throw new ConfigError(`${name} cannot be used: ${(error as Error).message}.`)
  }
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

/** Not quoted: it may hold a password. */
function assertProxy(address: string | undefined): void {
  if (address === undefined) return
  const url = URL.parse(address)
  const isOne = url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/'
  if (!isOne || url.search !== '' || url.hash !== '' || percentDecoded(url.username + url.password) === null)
    throw new ConfigError(
      'OUTBOUND_PROXY must be the address of a proxy, such as http://proxy.corp.example:3128, or http://USER:PASSWORD@…; what is special in a password is percent-encoded.',
    )
}

function assertCertificates(settings: Settings): void {
  const { CLIENT_CERTIFICATE_HEADER: header, OIDC_MTLS_ORIGIN: origin } = settings
  if (settings.CLIENT_CERTIFICATE_AUTHORITIES === 'proxy' && header === undefined)
    throw new ConfigError('CLIENT_CERTIFICATE_AUTHORITIES is proxy: that needs CLIENT_CERTIFICATE_HEADER.')
  const tls = ['MTLS_CERTIFICATE', 'MTLS_KEY', 'MTLS_HOST'] as const
  const missing = tls.slice(0, 2).find((name) => settings[name] === undefined)
  const idle = tls.find((name) => settings[name] !== undefined)
  if (settings.MTLS_PORT !== undefined && missing !== undefined)
    throw new ConfigError(`MTLS_PORT needs ${missing}: a file in PEM.`)
  if (settings.MTLS_PORT === undefined && idle !== undefined)
    throw new ConfigError(`${idle} needs MTLS_PORT: without it nothing asks for certificates.`)
  const { MTLS_PORT: port, PORT, METRICS_PORT } = settings
  for (const [name, taken] of Object.entries({ PORT, METRICS_PORT }))
    if (port !== undefined && port === taken) throw new ConfigError(`MTLS_PORT must be another than ${name}.`)
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
    !/^(?:off|on|any)$/.test(text) && URL.parse(`https://${text}/`)?.host === text
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

/** No entry is quoted: there are secrets in it, often in the address too. */
function assertWebhooks({ WEBHOOKS: entries, UNSAFE_OUTBOUND_ORIGINS: unsafe }: Settings): void {
  const known = new Set<string>()
  for (const [at, entry] of entries.entries()) {
    const webhook = parseWebhook(entry)
    const say = (why: string) => new ConfigError(`WEBHOOKS: entry ${at + 1} ${why}.`)
    if (typeof webhook === 'string') throw say(webhook)
    const { protocol, origin } = new URL(webhook.url)
    if (protocol !== 'https:' && !unsafe.includes(origin))
      throw say(`must be https, or ${origin} be in UNSAFE_OUTBOUND_ORIGINS`)
    if (known.has(webhook.url)) throw say('has an address that is there already')
    known.add(webhook.url)
  }
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
