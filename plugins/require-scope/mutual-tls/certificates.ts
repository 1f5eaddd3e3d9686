// The certificate that a client has shown for its connection (RFC 8705 §2): to this process, where it speaks TLS itself, or to
// the proxy in front of it, which hands it on in a header. A header of anybody else counts for nothing.
import { createHash, X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

export interface ShownCertificate {
  readonly x509: X509Certificate
  /** SHA-256 of its DER, base64url: `x5t#S256` (RFC 8705 §3.1). */
  readonly thumbprint: string
  /** Who has asked for it, and could have checked who issued it. */
  readonly shownTo: 'us' | 'proxy'
  /** Whether our own TLS found it to be issued by an authority that the app was given. */
  readonly authorized: boolean
}

/** The parts of a request of Fastify that say what was shown for its connection. */
export interface CertifiedRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly raw: { readonly socket: Socket }
}

export interface CertificateHeader<Request extends CertifiedRequest> {
  /** Its name, lower case. */
  readonly name: string
  /** Whether the connection comes from the proxy that sets it. */
  isFromProxy(request: Request): boolean
}

/** Characters, as in a header. */
const LONGEST = 16_384
const MOST_KEPT = 1000

/** Undefined where nothing was shown, or what stands in the header is no certificate, or more than one. */
export function createFindCertificate<Request extends CertifiedRequest>(
  header: CertificateHeader<Request> | undefined,
): (request: Request) => ShownCertificate | undefined {
  /** Few clients come often: what was read is forgotten all at once. */
  const handedOn = new Map<string, ShownCertificate | undefined>()
  const connected = new WeakMap<Socket, ShownCertificate>()

  function inHeader(text: string): ShownCertificate | undefined {
    if (handedOn.has(text)) return handedOn.get(text)
    const x509 = parseHandedOn(text)
    const shown = x509 && shownAs(x509, 'proxy', false)
    if (handedOn.size >= MOST_KEPT) handedOn.clear()
    handedOn.set(text, shown)
    return shown
  }

  function ofConnection(socket: Socket | TLSSocket): ShownCertificate | undefined {
    const known = connected.get(socket)
    if (known !== undefined) return known
    if (!('getPeerX509Certificate' in socket)) return undefined
    const x509 = socket.getPeerX509Certificate()
    if (x509 === undefined) return undefined
    const shown = shownAs(x509, 'us', socket.authorized)
    connected.set(socket, shown)
    return shown
  }

  return (request) => {
    if (header?.isFromProxy(request) !== true) return ofConnection(request.raw.socket)
    const text = request.headers[header.name]
    return typeof text === 'string' && text !== '' && text.length <= LONGEST ? inHeader(text) : undefined
  }
}

function shownAs(x509: X509Certificate, shownTo: 'us' | 'proxy', authorized: boolean): ShownCertificate {
  const thumbprint = createHash('sha256').update(x509.raw).digest('base64url')
  return { x509, thumbprint, shownTo, authorized }
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
