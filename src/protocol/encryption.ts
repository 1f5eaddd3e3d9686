/** How clients want answers encrypted (RFC 7516, OpenID Connect Registration §2): their members, what may stand there, and what follows. */
import type { TObject } from 'typebox'
import type { Bag } from './bag.ts'
import { metadataError, OAuthError } from './errors.ts'
import { reason } from './message.ts'
import { isObject } from './json.ts'
import { fits, parseJwkSet } from './jwk-set.ts'
import { Type } from './schema.ts'

/** What can be encrypted, as its members begin. */
export const ENCRYPTABLES = ['id_token', 'userinfo', 'introspection', 'authorization'] as const
export type Encryptable = (typeof ENCRYPTABLES)[number]

export interface Encryption {
  readonly alg: string
  readonly enc: string
}

/** RFC 7518 §4: with a key of the client's, and nothing that is weak or that a password opens. */
export const KEY_ENCRYPTIONS = ['RSA-OAEP-256', 'ECDH-ES', 'ECDH-ES+A128KW', 'ECDH-ES+A256KW']
export const CONTENT_ENCRYPTIONS = ['A128CBC-HS256', 'A256CBC-HS512', 'A128GCM', 'A256GCM']
/** Registration §2. */
export const DEFAULT_CONTENT_ENCRYPTION = 'A128CBC-HS256'

export function encryptionMembers(of: Encryptable): TObject {
  const Name = Type.String({ minLength: 1, maxLength: 200, open: true })
  return Type.Partial(Type.Object({ [algOf(of)]: Name, [encOf(of)]: Name }))
}

/** Undefined where the client wants none. */
export function encryptionOf(metadata: Bag, of: Encryptable): Encryption | undefined {
  const { [algOf(of)]: alg, [encOf(of)]: enc = DEFAULT_CONTENT_ENCRYPTION } = metadata as Record<
    string,
    string | undefined
  >
  return alg === undefined ? undefined : { alg, enc }
}

/** That it is offered, and that there is a key for it as far as the registration says. Throws `invalid_client_metadata`. */
export function assertEncryptable(metadata: Bag, of: Encryptable): void {
  const encryption = encryptionOf(metadata, of)
  if (encryption === undefined) {
    if (metadata[encOf(of)] !== undefined)
      throw metadataError(encOf(of), reason('needs {member}', { member: algOf(of) }))
    return
  }
  assertOffered(algOf(of), encryption.alg, KEY_ENCRYPTIONS)
  assertOffered(encOf(of), encryption.enc, CONTENT_ENCRYPTIONS)
  const { jwks, jwks_uri: uri } = metadata
  const isThere = isObject(jwks) && parseJwkSet(jwks).some((key) => fits(key, encryption.alg))
  if (uri === undefined && !isThere)
    throw metadataError(algOf(of), reason('needs a key for it in jwks, or jwks_uri'))
}

function assertOffered(member: string, value: string, offered: readonly string[]): void {
  if (!offered.includes(value))
    throw metadataError(member, reason('must be one of {names}', { names: offered }))
}

/** What of the server's metadata says it (Discovery §3, RFC 9701 §7, JARM §4). */
export function encryptionMetadata(of: Encryptable): Bag {
  return {
    [`${of}_encryption_alg_values_supported`]: KEY_ENCRYPTIONS,
    [`${of}_encryption_enc_values_supported`]: CONTENT_ENCRYPTIONS,
  }
}

/** What is told of an ID token that comes back encrypted: there is no key of ours for that. */
export const ENCRYPTED_HINT = 'id_token_hint is encrypted: send the signed ID token that is in it'

/** Whether it is a JWE in the compact form. */
export function isEncrypted(text: string): boolean {
  return /^[\w-]+(?:\.[\w-]*){4}$/.test(text)
}

/** Nobody who wants it encrypted gets it otherwise: also where nobody is registered any more who does that. Throws `unauthorized_client`. */
export function assertEncrypted(metadata: Bag, of: Encryptable, text = ''): void {
  if (encryptionOf(metadata, of) !== undefined && !isEncrypted(text))
    throw new OAuthError('unauthorized_client', `${algOf(of)} is registered, and not served here`)
}

function algOf(of: Encryptable): string {
  return `${of}_encrypted_response_alg`
}

function encOf(of: Encryptable): string {
  return `${of}_encrypted_response_enc`
}
