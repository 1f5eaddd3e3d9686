/**
 * The public key of a new passkey, a COSE key (RFC 9052 §7, RFC 9053 §7, RFC 8230 §4): one that cannot verify anything is no way in, though it
 * would be counted as one, and one that is weak verifies what anybody signs.
 */
import { isObject } from '../../src/protocol/json.ts'
import { JwkSetError, parseJwkSet } from '../../src/protocol/jwk-set.ts'

/** By the label of each in COSE. */
interface Kind {
  readonly alg: string
  readonly kty: readonly [label: number, name: string]
  readonly crv?: readonly [label: number, name: string]
  readonly members: Readonly<Record<string, number>>
}

const [KTY, ALG, CRV] = [1, 3, -1]
/** ES256, EdDSA, RS256 (RFC 9053, RFC 8812): one of these every authenticator has. */
const KINDS: ReadonlyMap<unknown, Kind> = new Map([
  [-7, { alg: 'ES256', kty: [2, 'EC'], crv: [1, 'P-256'], members: { x: -2, y: -3 } }],
  [-8, { alg: 'EdDSA', kty: [1, 'OKP'], crv: [6, 'Ed25519'], members: { x: -2 } }],
  [-257, { alg: 'RS256', kty: [3, 'RSA'], members: { n: -1, e: -2 } }],
])
export const ALGORITHMS = [...KINDS.keys()] as number[]

/** Whether it is a key, of the type that its algorithm takes, and as strong as those that clients may have. */
export function isGoodKey(cose: ReadonlyMap<number, unknown>): boolean {
  const kind = KINDS.get(cose.get(ALG))
  if (kind === undefined || cose.get(KTY) !== kind.kty[0]) return false
  if (kind.crv !== undefined && cose.get(CRV) !== kind.crv[0]) return false
  const members = Object.entries(kind.members).map(([name, label]) => [name, cose.get(label)] as const)
  if (!members.every(([, value]) => value instanceof Uint8Array)) return false
  const texts = members.map(([name, value]) => [name, Buffer.from(value as Uint8Array).toString('base64url')])
  const curve = kind.crv === undefined ? {} : { crv: kind.crv[1] }
  const jwk = { kty: kind.kty[1], alg: kind.alg, ...curve, ...Object.fromEntries(texts) }
  try {
    return parseJwkSet({ keys: [jwk] }).length === 1
  } catch (error) {
    if (!(error instanceof JwkSetError)) throw error
    return false
  }
}

/** §5.8.1: whether the page that asked was in a frame of another site. None of ours is. */
export function isFramed(clientData: unknown): boolean {
  return isObject(clientData) && (clientData['crossOrigin'] === true || clientData['topOrigin'] !== undefined)
}
