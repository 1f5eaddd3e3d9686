/**
 * What strangers have kept here, in the name of a client that anybody can be: one without credentials, or one that has registered itself.
 * It is bounded, so that nobody fills the database.
 */
import type { PutOptions } from '../../doors/artifacts.ts'
import type { Client } from '../../doors/client.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { networkOf } from '../../protocol/network.ts'
import type { SecretBox } from '../keys/secret-box.ts'

export type Place = Required<Pick<PutOptions, 'owner' | 'most'>>

/** Of one kind of artifact. */
const PLACES = 256
/** In each of them. */
export const MOST = 1000
/** Of one request, as it is kept. */
const MOST_BYTES = 16_384

export function isAnybodys(client: Client): boolean {
  return client.isPublic() || client.registrar !== undefined
}

/** Throws `invalid_request`. */
export function assertShort(text: string): void {
  if (Buffer.byteLength(text) > MOST_BYTES)
    throw new OAuthError('invalid_request', 'the request is too long for a client without credentials')
}

/** Networks share places by chance: the oldest of a place give way, and nobody finds out whose they push out. */
export function placeOf(box: Pick<SecretBox, 'tag'>, address: string): Place {
  const place = box.tag(Buffer.from(networkOf(address))).readUInt32BE() % PLACES
  return { owner: `anybody ${place}`, most: MOST }
}
