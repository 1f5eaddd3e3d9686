/**
 * What browsers send of a ceremony: the JSON of `PublicKeyCredential.toJSON()` (Web Authentication Level 3, §5.1.8), which anybody may
 * have written. Of it, the members that are read, in the shape that they must have.
 */
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { Static } from 'typebox'
import { isObject, parseJson } from '../../src/protocol/json.ts'
import { misfitOf, Type } from '../../src/protocol/schema.ts'

const Base64Url = (maxLength: number, minLength = 1) =>
  Type.String({ pattern: '^[A-Za-z0-9_-]+$', minLength, maxLength })
/** Of a credential id, which has 16 to 1023 bytes (§4, §7.1). */
const Id = Base64Url(1364, 22)

const Assertion = Type.Object({
  id: Id,
  response: Type.Object({
    clientDataJSON: Base64Url(2048),
    authenticatorData: Base64Url(2048),
    // Of RSA, as long as the key.
    signature: Base64Url(1366),
    userHandle: Type.Optional(Base64Url(88)),
  }),
})
const Attestation = Type.Object({
  id: Id,
  response: Type.Object({
    clientDataJSON: Base64Url(2048),
    attestationObject: Base64Url(12_288),
    transports: Type.Optional(Type.Array(Type.String({ pattern: '^[a-z-]{1,32}$' }), { maxItems: 16 })),
  }),
})

/** Null for what is none. */
export function readAssertion(text: string): AuthenticationResponseJSON | null {
  const sent = withoutNulls(parseJson(text))
  if (misfitOf(Assertion, sent) !== undefined) return null
  const { id, response } = sent as Static<typeof Assertion>
  const { clientDataJSON, authenticatorData, signature, userHandle } = response
  const own = userHandle === undefined ? {} : { userHandle }
  return credential(id, { clientDataJSON, authenticatorData, signature, ...own })
}

/** Null for what is none. */
export function readAttestation(text: string): RegistrationResponseJSON | null {
  const sent = withoutNulls(parseJson(text))
  if (misfitOf(Attestation, sent) !== undefined) return null
  const { id, response } = sent as Static<typeof Attestation>
  const { clientDataJSON, attestationObject, transports = [] } = response
  return credential(id, { clientDataJSON, attestationObject, transports })
}

function credential<Response>(id: string, response: Response) {
  return { id, rawId: id, type: 'public-key' as const, clientExtensionResults: {}, response }
}

/** Password managers that stand in for the browser write null for what is not there. */
function withoutNulls(sent: unknown): unknown {
  if (!isObject(sent) || !isObject(sent['response'])) return sent
  const members = Object.entries(sent['response']).filter(([, value]) => value !== null)
  return { id: sent['id'], response: Object.fromEntries(members) }
}
