/**
 * The certificate that a client has shown for its connection (RFC 8705 §2): to this process, where it speaks TLS itself, or to
 * the proxy in front of it, which hands it on in a header. A header of anybody else counts for nothing.
 */
import { createHash, X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { isFromTrustedProxy, type ConnectedRequest } from '../../src/http/trusted-proxy.ts'
import { createBoundedCache } from '../../src/services/bounded-cache.ts'

export interface ShownCertificate {
  readonly x509: X509Certificate
  /** SHA-256 of its DER, base64url: `x5t#S256` (RFC 8705 §3.1). */
  readonly thumbprint: string
  /** Who has asked for it, and could have checked who issued it. */
  readonly shownTo: 'us' | 'proxy'
  /** Whether our own TLS found it to be issued by an authority that the app was given. */
  readonly authorized: boolean
}

/** A request of Fastify, or the parts of it that a sender constraint gets. */
export interface CertifiedRequest extends ConnectedRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

export type FindCertificate = (request: CertifiedRequest) => ShownCertificate | undefined

/** Characters, as in a header. */
const LONGEST = 16_384
const MOST_KEPT = 1000

/** `header`: its name, lower case; undefined where no proxy hands certificates on. */
export function createFindCertificate(header: string | undefined): FindCertificate {
  const handedOn = createBoundedCache<{ certificate: ShownCertificate | undefined }>(MOST_KEPT)
  const connected = new WeakMap<Socket, ShownCertificate>()

  function inHeader(text: string): ShownCertificate | undefined {
    const known = handedOn.get(text)
    if (known !== undefined) return known.certificate
    const x509 = parseHandedOn(text)
    const certificate = x509 && {
      x509,
      thumbprint: thumbprintOf(x509),
      shownTo: 'proxy' as const,
      authorized: false,
    }
    handedOn.set(text, { certificate })
    return certificate
  }

  function ofConnection(socket: Socket): ShownCertificate | undefined {
    const known = connected.get(socket)
    if (known !== undefined) return known
    const { authorized } = socket as Partial<TLSSocket>
    const x509 = (socket as Partial<TLSSocket>).getPeerX509Certificate?.()
    if (x509 === undefined) return undefined
    const shown = {
      x509,
      thumbprint: thumbprintOf(x509),
      shownTo: 'us' as const,
      authorized: authorized === true,
    }
    connected.set(socket, shown)
    return shown
  }

  return (request) => {
    if (header === undefined || !isFromTrustedProxy(request)) return ofConnection(request.raw.socket)
    const text = request.headers[header]
    return typeof text === 'string' && text !== '' && text.length <= LONGEST ? inHeader(text) : undefined
  }
}

function thumbprintOf({ raw }: X509Certificate): string {
  return createHash('sha256').update(raw).digest('base64url')
}

/** One certificate: a byte sequence (RFC 9440 §2.2), or a percent-encoded PEM as nginx and others have it. */
function parseHandedOn(text: string): X509Certificate | undefined {
  const [, der] = /^:([A-Za-z0-9+/]+={0,2}):$/.exec(text) ?? []
  try {
    return new X509Certificate(
      der === undefined ? onePem(decodeURIComponent(text)) : Buffer.from(der, 'base64'),
    )
  } catch {
    return undefined
  }
}

const PEM = /^-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*$/

function onePem(text: string): string {
  if (!PEM.test(text)) throw new Error('it is no certificate')
  return text
}
