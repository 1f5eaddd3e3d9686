/** Who has issued a certificate: whether one of the authorities that the operator trusts did (RFC 8705 §2.1), and it is good now. */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { ConfigError } from '../../../src/config.ts'
import { createBoundedCache } from '../../../src/services/bounded-cache.ts'
import type { ShownCertificate } from '../../require-scope/mutual-tls/certificates.ts'

/** Whether a certificate was issued by whom the operator trusts. */
export type IsTrusted = (certificate: ShownCertificate) => boolean

/** The value of CLIENT_CERTIFICATE_AUTHORITIES that has the proxy check. */
const PROXY = 'proxy'
/** id-kp-clientAuth (RFC 5280 §4.2.1.12). */
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'
const MOST_KEPT = 1000

/** Undefined: nobody is named, and only our own TLS could tell. Throws `ConfigError`. */
export async function createIsTrusted(setting: string | undefined): Promise<IsTrusted> {
  if (setting === undefined) return ({ authorized }) => authorized
  if (setting === PROXY) return ({ shownTo, authorized }) => shownTo === 'proxy' || authorized
  const authorities = await readAuthorities(setting)
  /** Who issued it stays; whether that is good now is asked each time. */
  const issuers = createBoundedCache<{ issuer: X509Certificate | undefined }>(MOST_KEPT)
  return ({ x509, thumbprint }) => {
    const known = issuers.get(thumbprint) ?? { issuer: authorities.find((one) => hasIssued(one, x509)) }
    issuers.set(thumbprint, known)
    return known.issuer !== undefined && [x509, known.issuer].every(isGoodNow) && isForClients(x509)
  }
}

async function readAuthorities(path: string): Promise<X509Certificate[]> {
  const refuse = (why: string, cause?: unknown): ConfigError =>
    new ConfigError(`CLIENT_CERTIFICATE_AUTHORITIES: ${path} ${why}.`, { cause })
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw refuse('cannot be read', cause)
  })
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (found.length === 0) throw refuse('holds no certificates in PEM')
  return found.map((pem) => {
    try {
      return new X509Certificate(pem)
    } catch (cause) {
      throw refuse('holds a certificate that is none', cause)
    }
  })
}

function hasIssued(authority: X509Certificate, certificate: X509Certificate): boolean {
  return authority.ca && certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
}

function isGoodNow({ validFromDate, validToDate }: X509Certificate): boolean {
  const now = Date.now()
  return validFromDate.getTime() <= now && now < validToDate.getTime()
}

/** Where it says what it is for, it says that. */
function isForClients({ keyUsage }: X509Certificate): boolean {
  return (keyUsage as readonly string[] | undefined)?.includes(CLIENT_AUTH) ?? true
}
