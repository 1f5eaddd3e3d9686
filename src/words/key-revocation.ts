/** What the revocation of a signing key ends, in words for people who are about to ask for it. */
import { message, type Message } from '../protocol/message.ts'
import { JWKS_LIFETIME, type KeyRing, type KeyState } from '../services/keys/key-ring.ts'
import type { RingKey } from '../services/keys/ring-key.ts'

/** Sentences. `publishFor`: seconds that a new key is published before it signs. */
export async function whatRevokingEnds(keys: KeyRing, key: RingKey, publishFor: number): Promise<Message[]> {
  const now = Date.now()
  const longest = (await keys.longestLifetime()) * 1000
  const next = keys
    .keys()
    .find(({ algorithm, signsFrom }) => algorithm === key.algorithm && signsFrom > key.signsFrom)
  switch (keys.stateOf(key)) {
    case 'current':
      return [
        message(
          'It signs now. Every token that it signed is refused at once: those of the last {seconds} seconds, access tokens and ID tokens alike.',
          { seconds: seconds(Math.min(longest, now - key.signsFrom)) },
        ),
        ...ELSEWHERE,
        next === undefined
          ? message(
              'A new key signs at once. It cannot be published first: for up to {seconds} seconds other verifiers may refuse what it signs.',
              { seconds: JWKS_LIFETIME },
            )
          : message('The key {kid}, which is published already, signs at once.', { kid: next.kid }),
        message(
          'To spare other verifiers that, replace the key first, and revoke it when its successor signs.',
        ),
        UNSIGNED,
      ]
    case 'retiring':
      return [
        message(
          'It signs no more. Every token that it signed is refused at once: the last would have expired in {seconds} seconds.',
          { seconds: seconds(key.signsUntil + longest - now) },
        ),
        ...ELSEWHERE,
        UNSIGNED,
      ]
    default:
      return [
        message('It has signed nothing yet, so no token ends.'),
        next === undefined
          ? message('Another key is published in its place, and signs in {seconds} seconds.', {
              seconds: publishFor,
            })
          : message('The key {kid} signs in its place.', { kid: next.kid }),
      ]
  }
}

const ELSEWHERE = [
  message(
    'Whoever verifies tokens by our JWKS takes them until their copy of it ends, which is {seconds} seconds at most.',
    { seconds: JWKS_LIFETIME },
  ),
]
const UNSIGNED = message(
  'Refresh tokens and opaque tokens are not signed: they go on working, apps get new access tokens by them, and nobody has to sign in again.',
)

function seconds(milliseconds: number): number {
  return Math.max(0, Math.ceil(milliseconds / 1000))
}

const STATES: Readonly<Record<KeyState, Message>> = {
  next: message('next'),
  current: message('current'),
  retiring: message('retiring'),
  revoked: message('revoked'),
}

/** For people; the command line and JSON say the state itself. */
export function wordsOfState(state: KeyState): Message {
  return STATES[state]
}
