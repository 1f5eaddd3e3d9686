/**
 * What an interaction is about, as it travels in the address of its pages: sealed under SECRET_KEY for this address
 * alone. So nobody has to be believed, and nothing has to be stored, before somebody is signed in.
 */
import type { StoredApproval } from '../../src/doors/stored-facts.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { openText, sealText } from '../../src/services/keys/sealed-text.ts'
import type { SecretBox } from '../../src/services/keys/secret-box.ts'

export interface Asked {
  readonly request: StoredApproval
  readonly outcome: string
  readonly state: Bag
  /** Keyed hash of the browser's id. */
  readonly browser: string
  /** What the steps noted before anybody was signed in, by their names. */
  readonly notes: Bag
  /** Milliseconds since the epoch. */
  readonly until: number
}

/** Of the parameter of the query. */
export const REQUEST = 'request'
/**
 * Characters. The line of a request has 8192 at proxies with the settings that they come with, and the rest of the
 * address needs some: the path of the issuer, and the name of a step.
 */
export const MAX_SEALED = 7400
/** Bytes: more than the largest form becomes as JSON, and far less than so many characters can be made to hold. */
const MAX_INFLATED = 1_048_576

/** Throws `invalid_request` for what is too long to travel. */
export function seal(box: SecretBox, id: string, asked: Asked): string {
  const text = JSON.stringify(asked)
  const sealed = sealText(box, text, contextOf(id))
  if (sealed.length > MAX_SEALED || Buffer.byteLength(text) > MAX_INFLATED)
    throw new OAuthError('invalid_request', 'the request is too long to go through the pages for people')
  return sealed
}

/** Null for what we did not seal for this id, or not under a key that we still have. */
export function open(box: SecretBox, id: string, sealed: string): Asked | null {
  try {
    return JSON.parse(openText(box, sealed, contextOf(id), MAX_INFLATED)) as Asked
  } catch {
    return null
  }
}

function contextOf(id: string): string {
  return `interaction ${id}`
}
