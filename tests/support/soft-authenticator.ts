/**
 * An authenticator of software, which makes real passkeys (ES256) and signs with them, by the options that pages have; and which lies where a
 * test tells it to.
 */
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'

export interface SoftPasskey {
  readonly id: string
  readonly key: KeyObject
  userHandle: string
  counter: number
}

export interface Behaviour {
  /** Of the page; the authenticator believes it. */
  origin: string
  rpId?: string
  /** Whether it asks for a PIN, and whether what it makes may be copied, and is. */
  verifies?: boolean
  syncable?: boolean
  synced?: boolean
  /** In the place of the one that was asked for. */
  challenge?: string
  aaguid?: string
  transports?: readonly string[]
  /** Of signatures; without it, it counts by itself from 0, which is never told where `counts` is false. */
  counter?: number
  type?: string
  userHandle?: string
  /** The members of a COSE key, in the place of its own. */
  publicKey?: ReadonlyMap<number, unknown>
  /** What its page says of the frame that it is in. */
  frame?: { readonly crossOrigin?: boolean; readonly topOrigin?: string }
  /** CBOR of another attestation than none. */
  statement?: readonly [format: string, statement: Map<string, unknown>]
}

export interface CreationOptions {
  challenge: string
  rp: { id: string; name: string }
  user: { id: string; name: string; displayName: string }
  excludeCredentials: { id: string }[]
}
export interface RequestOptions {
  challenge: string
  rpId: string
  userVerification: string
  allowCredentials: { id: string }[]
}

/** A new passkey, and the JSON of the credential. */
export function makePasskey(
  { challenge, rp, user }: CreationOptions,
  behaviour: Behaviour,
): { passkey: SoftPasskey; credential: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x, y } = publicKey.export({ format: 'jwk' })
  const id = randomBytes(32)
  const cose = new Map<number, unknown>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, Buffer.from(x!, 'base64url')],
    [-3, Buffer.from(y!, 'base64url')],
  ])
  const aaguid = Buffer.from((behaviour.aaguid ?? '0'.repeat(32)).replaceAll('-', ''), 'hex')
  const attested = Buffer.concat([aaguid, uint16(id.length), id, cbor(behaviour.publicKey ?? cose)])
  const authData = Buffer.concat([head(rp.id, behaviour, 0x40, behaviour.counter ?? 0), attested])
  const [format, statement] = behaviour.statement ?? ['none', new Map<string, unknown>()]
  const attestation = new Map<string, unknown>([
    ['fmt', format],
    ['attStmt', statement],
    ['authData', authData],
  ])
  const passkey = {
    id: id.toString('base64url'),
    key: privateKey,
    userHandle: user.id,
    counter: behaviour.counter ?? 0,
  }
  const response = {
    clientDataJSON: clientData('webauthn.create', challenge, behaviour).toString('base64url'),
    attestationObject: cbor(attestation).toString('base64url'),
    transports: behaviour.transports ?? ['internal', 'hybrid'],
  }
  return { passkey, credential: credentialOf(passkey.id, response) }
}

/** The JSON of a sign-in. */
export function signWith(
  passkey: SoftPasskey,
  { challenge, rpId }: RequestOptions,
  behaviour: Behaviour,
): string {
  const authData = head(rpId, behaviour, 0, behaviour.counter ?? passkey.counter)
  const client = clientData('webauthn.get', challenge, behaviour)
  const signed = Buffer.concat([authData, createHash('sha256').update(client).digest()])
  return credentialOf(passkey.id, {
    clientDataJSON: client.toString('base64url'),
    authenticatorData: authData.toString('base64url'),
    signature: sign('sha256', signed, passkey.key).toString('base64url'),
    userHandle: behaviour.userHandle ?? passkey.userHandle,
  })
}

function credentialOf(id: string, response: object): string {
  return JSON.stringify({ id, rawId: id, type: 'public-key', clientExtensionResults: {}, response })
}

function clientData(type: string, challenge: string, { origin, ...behaviour }: Behaviour): Buffer {
  const said = {
    type: behaviour.type ?? type,
    challenge: behaviour.challenge ?? challenge,
    origin,
    crossOrigin: false,
    ...behaviour.frame,
  }
  return Buffer.from(JSON.stringify(said))
}

/** RP ID hash, flags, counter (Web Authentication §6.1). */
function head(
  rpId: string,
  { rpId: own = rpId, verifies = true, syncable = false, synced = false }: Behaviour,
  more: number,
  counter: number,
): Buffer {
  const flags = 0x01 | (verifies ? 0x04 : 0) | (syncable ? 0x08 : 0) | (synced ? 0x10 : 0) | more
  const count = Buffer.alloc(4)
  count.writeUInt32BE(counter)
  return Buffer.concat([createHash('sha256').update(own).digest(), Buffer.from([flags]), count])
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

/** RFC 8949, as much as passkeys need. */
export function cbor(value: unknown): Buffer {
  if (typeof value === 'number') return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value)
  if (typeof value === 'string')
    return Buffer.concat([cborHead(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (value instanceof Uint8Array) return Buffer.concat([cborHead(2, value.length), value])
  if (Array.isArray(value)) return Buffer.concat([cborHead(4, value.length), ...value.map(cbor)])
  if (value instanceof Map)
    return Buffer.concat([cborHead(5, value.size), ...[...value].flat().map((one) => cbor(one))])
  throw new TypeError('no CBOR for it')
}

function cborHead(major: number, value: number): Buffer {
  const kind = major << 5
  if (value < 24) return Buffer.from([kind | value])
  return value < 256
    ? Buffer.from([kind | 24, value])
    : Buffer.concat([Buffer.from([kind | 25]), uint16(value)])
}
