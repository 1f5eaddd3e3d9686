/**
 * The two ceremonies of Web Authentication Level 3: what browsers are asked for, and whether the answer holds. What verifies is loaded with
 * the first answer, since few processes ever need it at their start.
 */
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { parseJson } from '../../src/protocol/json.ts'
import type { RelyingParty } from '../../src/protocol/relying-party.ts'
import { ALGORITHMS, isFramed, isGoodKey } from './keys.ts'
import type { KnownPasskey, Passkey } from './passkeys.ts'

/** Whether the server made this challenge, for who answers it. */
type IsOurs = (challenge: string) => boolean

export interface Registrant {
  /** base64url; what authenticators know the account by. */
  readonly handle: string
  readonly username: string
  readonly displayName: string
}

/** What an authenticator says of a sign-in. */
export interface Seen {
  readonly counter: number
  /** By PIN, fingerprint, face: and not only touched. */
  readonly userVerified: boolean
  /** Whether it may be copied to other devices of its owner, and whether it is. */
  readonly syncable: boolean
  readonly synced: boolean
}

export type New = Pick<Passkey, 'publicKey' | 'counter' | 'aaguid' | 'transports' | 'syncable' | 'synced'>

/** Milliseconds, for people to find their phone. */
const PATIENCE = 300_000
const TYPE = 'public-key'

/** For `PublicKeyCredential.parseRequestOptionsFromJSON`: of these passkeys, or where there are none of any. */
export function requestOptions(
  { id }: RelyingParty,
  challenge: string,
  { allowed, verifies }: { allowed: readonly KnownPasskey[]; verifies: boolean },
): object {
  return {
    challenge,
    rpId: id,
    timeout: PATIENCE,
    userVerification: verifies ? 'required' : 'preferred',
    allowCredentials: allowed.map(descriptorOf),
  }
}

/**
 * For `PublicKeyCredential.parseCreationOptionsFromJSON`. It is found without a user name, and asks for no attestation: which
 * authenticators somebody has is their own business (§14.4.1).
 */
export function creationOptions(
  { id, name }: RelyingParty,
  challenge: string,
  { handle, username, displayName }: Registrant,
  known: readonly KnownPasskey[],
): object {
  return {
    challenge,
    rp: { id, name },
    user: { id: handle, name: username, displayName },
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: TYPE, alg })),
    timeout: PATIENCE,
    excludeCredentials: known.map(descriptorOf),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'preferred',
    },
    attestation: 'none',
  }
}

function descriptorOf({ id, value: { transports } }: KnownPasskey): object {
  return { type: TYPE, id, transports }
}

/** Null where it does not hold (§7.2), but for the counter: that is looked at where it is kept. */
export async function verifyAssertion(
  { id, origin }: RelyingParty,
  response: AuthenticationResponseJSON,
  { publicKey, syncable: wasSyncable, userHandle }: Passkey,
  isOurs: IsOurs,
): Promise<Seen | null> {
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  const { userHandle: given = userHandle } = response.response
  const result = await orNull(async () =>
    verifyAuthenticationResponse({
      response,
      expectedChallenge: isOurs,
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification: false,
      credential: { id: response.id, publicKey: bytesOf(publicKey), counter: 0 },
    }),
  )
  if (result === null || !result.verified || isFramed(clientDataOf(response))) return null
  const { newCounter, userVerified, credentialDeviceType, credentialBackedUp } = result.authenticationInfo
  const syncable = credentialDeviceType === 'multiDevice'
  if (given !== userHandle || syncable !== wasSyncable) return null
  return { counter: newCounter, userVerified, syncable, synced: credentialBackedUp }
}

/** Null where it does not hold (§7.1). */
export async function verifyAttestation(
  { id, origin }: RelyingParty,
  response: RegistrationResponseJSON,
  isOurs: IsOurs,
): Promise<New | null> {
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
  const { decodeAttestationObject, decodeCredentialPublicKey, isoBase64URL, isoCBOR } =
    await import('@simplewebauthn/server/helpers')

  /** No statement was asked for, so none is believed: nor is anything that it names looked up. */
  function bare(attestationObject: string): string {
    const authData = decodeAttestationObject(bytesOf(attestationObject)).get('authData')
    const members = new Map<string, string | Uint8Array | Map<string, string>>([
      ['fmt', 'none'],
      ['attStmt', new Map<string, string>()],
      ['authData', authData],
    ])
    return isoBase64URL.fromBuffer(isoCBOR.encode(members))
  }

  const result = await orNull(async () => {
    const attestationObject = bare(response.response.attestationObject)
    return verifyRegistrationResponse({
      response: { ...response, response: { ...response.response, attestationObject } },
      expectedChallenge: isOurs,
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification: false,
      supportedAlgorithmIDs: ALGORITHMS,
    })
  })
  if (result === null || !result.verified || isFramed(clientDataOf(response))) return null
  const { credential, aaguid, credentialDeviceType, credentialBackedUp } = result.registrationInfo
  if (credential.id !== response.id) return null
  if (!isGoodKey(decodeCredentialPublicKey(credential.publicKey) as unknown as ReadonlyMap<number, unknown>))
    return null
  return {
    publicKey: Buffer.from(credential.publicKey).toString('base64url'),
    counter: credential.counter,
    aaguid,
    transports: response.response.transports ?? [],
    syncable: credentialDeviceType === 'multiDevice',
    synced: credentialBackedUp,
  }
}

/** What the library throws says that it does not hold: it asks nobody, and what it reads is a stranger's. */
async function orNull<T>(verify: () => Promise<T>): Promise<T | null> {
  try {
    return await verify()
  } catch {
    return null
  }
}

/** Of an answer that has been verified, so that it is JSON. */
function clientDataOf({ response }: { response: { clientDataJSON: string } }): unknown {
  return parseJson(Buffer.from(response.clientDataJSON, 'base64url').toString())
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text, 'base64url'))
}
