/** What the revocation of a signing key ends, in words for people who are about to ask for it. */
import { JWKS_LIFETIME, type KeyRing } from '../services/keys/key-ring.ts'
import type { RingKey } from '../services/keys/ring-key.ts'

/** Sentences. `publishFor`: seconds that a new key is published before it signs. */
export async function whatRevokingEnds(keys: KeyRing, key: RingKey, publishFor: number): Promise<string[]> {
  const now = Date.now()
  const longest = (await keys.longestLifetime()) * 1000
  const next = keys
    .keys()
    .find(({ algorithm, signsFrom }) => algorithm === key.algorithm && signsFrom > key.signsFrom)
  switch (keys.stateOf(key)) {
    case 'current':
      return [
        `It signs now. Every token that it signed is refused at once: those of the last ${seconds(Math.min(longest, now - key.signsFrom))}, access tokens and ID tokens alike.`,
        ...ELSEWHERE,
        next === undefined
          ? `A new key signs at once. It cannot be published first: for up to ${JWKS_LIFETIME} seconds other verifiers may refuse what it signs.`
          : `The key ${next.kid}, which is published already, signs at once.`,
        `To spare other verifiers that, replace the key first, and revoke it when its successor signs.`,
        UNSIGNED,
      ]
    case 'retiring':
      return [
        `It signs no more. Every token that it signed is refused at once: the last would have expired in ${seconds(key.signsUntil + longest - now)}.`,
        ...ELSEWHERE,
        UNSIGNED,
      ]
    default:
      return [
        'It has signed nothing yet, so no token ends.',
        next === undefined
          ? `Another key is published in its place, and signs in ${publishFor} seconds.`
          : `The key ${next.kid} signs in its place.`,
      ]
  }
}

const ELSEWHERE = [
  `Whoever verifies tokens by our JWKS takes them until their copy of it ends, which is ${JWKS_LIFETIME} seconds at most.`,
]
const UNSIGNED =
  'Refresh tokens and opaque tokens are not signed: they go on working, apps get new access tokens by them, and nobody has to sign in again.'

function seconds(milliseconds: number): string {
  return `${Math.max(0, Math.ceil(milliseconds / 1000))} seconds`
}
