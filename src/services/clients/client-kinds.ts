/** What clients of a kind have in common, as a beginning: whoever registers one may say otherwise. */

/** RFC 8628 §3.4. */
export const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'

/** CIBA Core 1.0 §4. */
export const CIBA = 'urn:openid:params:grant-type:ciba'

/** By its names of RFC 7591. */
export interface ClientKind {
  readonly response_types?: readonly string[]
  readonly grant_types?: readonly string[]
  readonly token_endpoint_auth_method?: string
}

/** What is not said here follows from the rest, as for every client whatever the way in. */
export const CLIENT_KINDS = {
  web: { response_types: ['code'] },
  app: { response_types: ['code'], token_endpoint_auth_method: 'none' },
  device: { grant_types: [DEVICE_CODE, 'refresh_token'], token_endpoint_auth_method: 'none' },
  service: { grant_types: ['client_credentials'] },
} as const satisfies Readonly<Record<string, ClientKind>>

export type ClientKindName = keyof typeof CLIENT_KINDS
