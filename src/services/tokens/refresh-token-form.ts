/**
 * What a refresh token looks like: 66 bytes in base64url, behind a prefix by which scanners find a leaked one. They are the
 * id of its Authorization, which one of the family it is, 256 random bits, and a tag by which we know it for ours when
 * nothing of it is stored any more. One from before tags ends with its secret, right behind the id.
 */
import { authorizationIdOf, hashOf } from '../../protocol/handle.ts'
import { fillRandomly } from '../../protocol/random.ts'
import { TAG_BYTES, type SecretBox } from '../keys/secret-box.ts'

export interface RefreshTokenForm {
  readonly authorizationId: string
  /** Its place in the family: 0 is the first. */
  readonly generation: number
  /** SHA-256, base64url. */
  readonly hash: string
}

const PREFIX = 'lkr_'
const ID_BYTES = 16
const GENERATION_BYTES = 6
const SECRET_BYTES = 32
/** In which the members of a family differ beyond their place. */
export const TAIL_BYTES = SECRET_BYTES + TAG_BYTES
const TAIL_AT = ID_BYTES + GENERATION_BYTES
const TAG_AT = TAIL_AT + SECRET_BYTES
const FORM = /^lkr_[\w-]{88}$/
const FORM_WITHOUT_TAG = /^lkr_[\w-]{64}$/

/** A new one, of this generation. */
export function createRefreshToken(authorizationId: string, generation: number, box: SecretBox): string {
  const body = Buffer.allocUnsafe(TAG_AT)
  body.write(authorizationId.replaceAll('-', ''), 'hex')
  body.writeUIntBE(generation, ID_BYTES, GENERATION_BYTES)
  fillRandomly(body, TAIL_AT)
  return PREFIX + body.toString('base64url') + box.tag(body).toString('base64url')
}

/** Null for what cannot be one of ours. */
export function parseRefreshToken(token: string): RefreshTokenForm | null {
  const tagged = FORM.test(token)
  if (!tagged && !FORM_WITHOUT_TAG.test(token)) return null
  const generation = tagged ? bytesOf(token).readUIntBE(ID_BYTES, GENERATION_BYTES) : 0
  return { authorizationId: authorizationIdOf(token, PREFIX), generation, hash: hashOf(token) }
}

/** Whether we made it, whatever became of it. */
export function isTagged(token: string, box: SecretBox): boolean {
  const bytes = bytesOf(token)
  return box.isTag(bytes.subarray(TAG_AT), bytes.subarray(0, TAG_AT))
}

/** What of a token only its holder has. */
export function tailOf(token: string): Buffer {
  return bytesOf(token).subarray(TAIL_AT)
}

/** The one that follows `token` in its family, with this tail. */
export function followedBy(token: string, tail: Buffer): string {
  const { generation } = parseRefreshToken(token)!
  const bytes = Buffer.concat([
    bytesOf(token).subarray(0, ID_BYTES),
    Buffer.allocUnsafe(GENERATION_BYTES),
    tail,
  ])
  bytes.writeUIntBE(generation + 1, ID_BYTES, GENERATION_BYTES)
  return PREFIX + bytes.toString('base64url')
}

function bytesOf(token: string): Buffer {
  return Buffer.from(token.slice(PREFIX.length), 'base64url')
}
