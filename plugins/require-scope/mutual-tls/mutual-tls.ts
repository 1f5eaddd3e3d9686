// Tokens that are bound to the certificate of a client's connection (RFC 8705 §3), for an API: the sender constraint that
// `requireScope` is given.
import { BlockList, isIP } from 'node:net'
import { BearerError } from '../bearer-error.ts'
import { assertBoolean, assertNames, assertOption } from '../option-checks.ts'
import type { SenderConstraint } from '../sender-constraint.ts'
import { createFindCertificate, type CertifiedRequest, type ShownCertificate } from './certificates.ts'

export interface MutualTlsOptions {
  /** Where a proxy speaks TLS: the header in which it hands the certificate on, PEM percent-encoded or as RFC 9440 has it. */
  header?: string | undefined
  /** The proxies of which that header is believed: addresses, and networks such as `10.0.0.0/8`. Needed with `header`. */
  proxies?: readonly string[] | undefined
  /** Refuses tokens that are bound to no certificate. Default false. */
  required?: boolean | undefined
}

const WHO = 'mutualTls'
const NAMES = ['header', 'proxies', 'required']
const MEMBER = 'tls_client_certificate_bound_access_tokens'

/**
 * Tokens that are bound to a certificate, under the scheme `Bearer`.
 * @throws {TypeError} for an option that cannot be meant
 */
export function mutualTls(options: MutualTlsOptions = {}): SenderConstraint {
  assertNames(WHO, options, NAMES)
  const { header, proxies = [], required = false } = options
  const isName = typeof header === 'string' && /^[\w-]+$/.test(header)
  assertOption(WHO, header === undefined || isName, 'header must be the name of one')
  assertOption(
    WHO,
    header === undefined || proxies.length > 0,
    'header needs proxies, of which it is believed',
  )
  assertOption(
    WHO,
    header !== undefined || proxies.length === 0,
    'proxies go with a header, that of a certificate',
  )
  assertBoolean(WHO, 'required', required)
  const trusted = listOf(proxies)
  const find = createFindCertificate(
    header === undefined
      ? undefined
      : { name: header.toLowerCase(), isFromProxy: (request) => isAmong(request, trusted) },
  )
  return { ...describeMutualTls(find), required }
}

/** What is the same wherever certificates are compared. */
export function describeMutualTls(
  find: (request: CertifiedRequest) => ShownCertificate | undefined,
): SenderConstraint {
  return {
    scheme: 'Bearer',
    confirmation: 'x5t#S256',
    metadata: { [MEMBER]: true },
    async verify(request, { confirmation }) {
      const shown = find(request)
      if (shown === undefined)
        throw new BearerError('invalid_token', 'The token is bound to a certificate, and none was shown')
      if (shown.thumbprint !== confirmation)
        throw new BearerError('invalid_token', 'The token is bound to another certificate')
    },
  }
}

function listOf(proxies: unknown): BlockList {
  const list = new BlockList()
  const sentence = 'proxies must list addresses, or networks such as 10.0.0.0/8'
  assertOption(WHO, Array.isArray(proxies), sentence)
  for (const proxy of proxies as unknown[]) {
    const network = readNetwork(proxy)
    assertOption(WHO, network !== undefined, `${sentence}: it has ${JSON.stringify(proxy)}`)
    list.addSubnet(...network)
  }
  return list
}

/** Undefined for what is none: half a length would be that of everybody. */
function readNetwork(text: unknown): [address: string, length: number, family: 'ipv4' | 'ipv6'] | undefined {
  const [, address = '', length] = /^([\da-f:.]+)(?:\/(\d{1,3}))?$/i.exec(String(text)) ?? []
  const bits = { 4: 32, 6: 128 }[isIP(address)]
  if (bits === undefined || Number(length ?? bits) > bits) return undefined
  return [address, Number(length ?? bits), bits === 32 ? 'ipv4' : 'ipv6']
}

/** An IPv4 address may come as one of IPv6 (RFC 4291 §2.5.5.2). */
function isAmong({ raw: { socket } }: CertifiedRequest, list: BlockList): boolean {
  const address = socket.remoteAddress ?? ''
  const family = { 4: 'ipv4', 6: 'ipv6' }[isIP(address)] as 'ipv4' | 'ipv6' | undefined
  return family !== undefined && list.check(address, family)
}
