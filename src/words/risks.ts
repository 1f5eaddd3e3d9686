/**
 * What a production start allows and an operator should know: choices that are legal and seldom wise. Each is one
 * sentence, for the log of the start and for `doctor`; what is never right is refused in `src/config.ts` instead.
 */
import { url as debuggerAddress } from 'node:inspector'
import { readFile, stat } from 'node:fs/promises'
import type { Config } from '../config.ts'
import { parseSmtpUrl } from '../protocol/mail-address.ts'
import { isLoopbackHost } from '../protocol/redirect-uri.ts'

/**
 * Sentences, each of which names what to change; for a development start, which is not for others, only of what reaches
 * others.
 */
export async function risksOf(config: Config): Promise<string[]> {
  if (!config.production) return risksAnywhereOf(config)
  return [
    ...risksAnywhereOf(config),
    ...ofLifetimes(config),
    ...ofNetwork(config),
    ...ofDatabase(config),
    ...ofProcess(config),
    ...(await ofSeedFile(config)),
  ]
}

/** Also for who embeds the server, and may leave out plugins by code. */
export function risksAnywhereOf(
  {
    UNSAFE_OUTBOUND_ORIGINS: origins,
    OUTBOUND_PROXY: proxy,
    WITHOUT: without,
    UNSAFE_LDAP_PLAINTEXT: unsafe,
    LDAP_URL: url,
    LDAP_START_TLS: startTls,
  }: Config,
  alsoWithout: readonly string[] = [],
): string[] {
  const left = new Set([...without, ...alsoWithout])
  const plain = unsafe && url?.startsWith('ldap:') === true && !startTls
  return named([
    [
      origins.length > 0,
      `UNSAFE_OUTBOUND_ORIGINS LETS CLIENTS MAKE THIS SERVER ASK ${origins.join(' AND ')}, WHATEVER IS THERE: name only what is meant for that.`,
    ],
    [
      proxy !== undefined,
      'OUTBOUND_PROXY finds out where names lead, and clients choose names: let it refuse addresses of your own network.',
    ],
    [
      plain,
      'UNSAFE_LDAP_PLAINTEXT SENDS THE PASSWORDS OF PEOPLE TO LDAP_URL AS THEY ARE: set LDAP_START_TLS=true, or an address that begins with ldaps://.',
    ],
    [
      left.has('latchkey-consent'),
      'WITHOUT latchkey-consent EVERY APP GETS WHATEVER IT ASKS FOR, AND NOBODY IS ASKED: keep it, and register require_consent=false for apps that are trusted.',
    ],
    [
      left.has('latchkey-login'),
      'WITHOUT latchkey-login NOBODY HERE ASKS WHO IS THERE: prompt=login, max_age and id_token_hint hold only where another plugin sees to them.',
    ],
  ])
}

const DAY = 86_400

function ofLifetimes(config: Config): string[] {
  return named([
    [
      config.OIDC_TOKEN_EXPIRE > DAY,
      'OIDC_TOKEN_EXPIRE is more than a day: an API that verifies access tokens by itself takes them for so long, also after they were revoked.',
    ],
    [config.OIDC_CODE_EXPIRE > 600, 'OIDC_CODE_EXPIRE is more than the 600 seconds of RFC 6749.'],
    [
      config.OIDC_REFRESH_REUSE_INTERVAL > 60,
      'OIDC_REFRESH_REUSE_INTERVAL is more than a minute: for so long a stolen refresh token passes for a repeated one.',
    ],
    [config.OIDC_KEY_ROTATE === 0, 'OIDC_KEY_ROTATE is 0: signing keys are replaced by `key rotate` alone.'],
    [
      config.OIDC_IMPLICIT,
      'OIDC_IMPLICIT is true: apps that are registered for it get tokens in an address of the browser, where its history and its extensions find them.',
    ],
    [
      !config.OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE,
      'OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE is false: a client that may introspect is told of the tokens of every client.',
    ],
  ])
}

function ofNetwork(config: Config): string[] {
  return named([
    [
      config.TRUSTED_PROXIES.length === 0,
      'TRUSTED_PROXIES is not set: behind a proxy all requests count as those of its one address, and who fails too often from there is everybody.',
    ],
    [
      config.CLIENT_CERTIFICATE_HEADER !== undefined && config.TRUSTED_PROXIES.length === 0,
      'CLIENT_CERTIFICATE_HEADER is set without TRUSTED_PROXIES: it is believed from nobody.',
    ],
    [
      config.TRUSTED_PROXIES.some(isWide),
      'TRUSTED_PROXIES holds a very large network: whoever is in it can name any address as theirs.',
    ],
    [
      config.METRICS_PORT !== undefined && !isLoopbackHost(config.METRICS_HOST),
      'METRICS_HOST is not this machine: let only the monitoring reach METRICS_PORT.',
    ],
    [
      config.SMTP_URL !== undefined && mailsInTheClear(config.SMTP_URL),
      'SMTP_URL is smtp:// to another machine and without a password: mails, and the links in them, go in the clear where it offers no STARTTLS. Use smtps://, where it can.',
    ],
  ])
}

function ofDatabase({ DATABASE_URL: url, SECRET_KEY: [current = '', ...former] = [] }: Config): string[] {
  return named([
    [
      isTyped(current),
      'SECRET_KEY looks typed and not random: make one with `openssl rand -base64 32`, and put it before this one.',
    ],
    [
      url !== undefined && crossesNetworkInTheClear(url),
      'DATABASE_URL crosses a network without TLS that is sure of the server: add sslmode=verify-full to it.',
    ],
    [
      former.length > 0,
      'SECRET_KEY still has a former key: take it away when `doctor` says that nothing needs it.',
    ],
  ])
}

function ofProcess({ LOG_LEVEL: level }: Config): string[] {
  return named([
    [
      ['error', 'fatal', 'silent'].includes(level),
      `LOG_LEVEL is ${level}: refusals and warnings are not logged.`,
    ],
    [process.getuid?.() === 0, 'The server runs as root: start it as a user of its own.'],
    [
      debuggerAddress() !== undefined,
      'A debugger may connect to this process, and read every secret: start it without --inspect.',
    ],
    [
      process.env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0',
      'NODE_TLS_REJECT_UNAUTHORIZED is 0: no certificate is verified, neither that of the database nor any other.',
    ],
  ])
}

async function ofSeedFile({ SEED_FILE: path }: Config): Promise<string[]> {
  if (path === undefined) return []
  const file = await stat(path).catch(() => undefined)
  if (file === undefined || (file.mode & 0o004) === 0) return []
  const text = await readFile(path, 'utf8').catch(() => '')
  return named([
    [
      /"(?:client_secret|password)"/.test(text),
      'SEED_FILE holds secrets and may be read by every user of this machine: chmod o-r it.',
    ],
  ])
}

function named(found: readonly (readonly [boolean, string])[]): string[] {
  return found.filter(([is]) => is).map(([, sentence]) => sentence)
}

/** By somebody who had to have something there. */
function isTyped(secretKey: string): boolean {
  const words = /change.?me|replace.?(?:me|this)|example|your.?(?:secret|key)/i
  return new Set(secretKey).size < 8 || words.test(secretKey)
}

function isWide(network: string): boolean {
  const [address = '', length] = network.split('/')
  return length !== undefined && Number(length) < (address.includes(':') ? 16 : 8)
}

/** With a password, TLS is insisted upon. */
function mailsInTheClear(smtpUrl: string): boolean {
  const server = parseSmtpUrl(smtpUrl)
  return server !== null && !server.secure && server.credentials === null && !isLoopbackHost(server.host)
}

/** Sockets and loopback are no network. The driver verifies whom it reaches, unless it is told to do as libpq does. */
function crossesNetworkInTheClear(url: string): boolean {
  const { hostname, searchParams } = new URL(url)
  const host = searchParams.get('host') ?? hostname
  if (host === '' || host.startsWith('/') || isLoopbackHost(host)) return false
  const mode = searchParams.get('sslmode') ?? ''
  const asLibpq = searchParams.get('uselibpqcompat') === 'true'
  return !(asLibpq ? ['verify-full'] : ['require', 'verify-ca', 'verify-full']).includes(mode)
}
