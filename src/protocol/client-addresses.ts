/** Addresses of a registration that are as they must be, and not safe all the same. */
import { ClientMetadata, WEB_URI, type ClientInformation } from './client-metadata.ts'
import { isLoopbackHost, redirectUriCaution } from './redirect-uri.ts'

/** An address that may be registered and is not safe all the same, and why. */
export interface AddressCaution {
  readonly member: 'redirect_uris' | 'post_logout_redirect_uris'
  readonly uri: string
  readonly reason: string
}

/** What an administrator is warned of, and the registration of a stranger must not have. */
export function addressCautions(members: ClientInformation): AddressCaution[] {
  return (['redirect_uris', 'post_logout_redirect_uris'] as const).flatMap((member) =>
    (members[member] ?? []).flatMap((uri) => {
      const reason = redirectUriCaution(uri)
      return reason === undefined ? [] : { member, uri, reason }
    }),
  )
}

/** Where this server itself asks. */
const ASKED = ['backchannel_logout_uri', 'jwks_uri', 'sector_identifier_uri'] as const

/** The members whose address this server will not ask, as it is plain http, with the origin that UNSAFE_OUTBOUND_ORIGINS would have to list. */
export function unaskedAddresses(
  members: ClientInformation,
  unsafeOrigins: readonly string[],
): { member: (typeof ASKED)[number]; origin: string }[] {
  return ASKED.flatMap((member) => {
    const url = URL.parse(members[member] ?? '')
    return url?.protocol !== 'http:' || unsafeOrigins.includes(url.origin)
      ? []
      : [{ member, origin: url.origin }]
  })
}

/** Those of our members that name a page or document of http at another host, which anybody on the way could be. */
export function plainAddresses(members: ClientInformation): string[] {
  return Object.entries(ClientMetadata.properties).flatMap(([name, schema]) => {
    const value = members[name]
    const isAddress = (schema as { format?: string }).format === WEB_URI && typeof value === 'string'
    return isAddress && isPlain(value) ? [name] : []
  })
}

function isPlain(address: string): boolean {
  const url = URL.parse(address)
  return url === null || (url.protocol === 'http:' && !isLoopbackHost(url.hostname))
}
