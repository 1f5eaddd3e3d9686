/** What somebody signs with a passkey, wherever it is asked for: what their browser is asked, and whether the answer is taken. */
import type { FastifyInstance } from 'fastify'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import type { Proof } from '../../src/doors/sign-in.ts'
import type { User } from '../../src/doors/user.ts'
import { waitFor } from '../../src/http/wait.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { compileParameters } from '../../src/protocol/parameters.ts'
import type { RelyingParty } from '../../src/protocol/relying-party.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import { requestOptions, type Seen, verifyAssertion } from './ceremonies.ts'
import type { Challenges } from './challenges.ts'
import type { KnownPasskey, OwnPasskeys } from './passkeys.ts'
import { readAssertion } from './responses.ts'

/** What the form of an answer is made of. */
export interface AssertionForm {
  /** What the challenge is made from. */
  issued: string
  /** JSON, for `PublicKeyCredential.parseRequestOptionsFromJSON`. */
  options: string
  /** Where it can be used. */
  origin: string
}

/** Whom the answer is asked of. */
export interface Asked {
  /** Of the interaction. */
  readonly id: string
  /** Who has to show it; null where anybody may. */
  readonly known: Pick<User, 'id'> | null
}

/** What was sent, and is not taken. */
export interface Refusal {
  readonly text: Words
  readonly status: number
  /** The id of one that nobody has. */
  readonly unknown?: string
}

interface Proven {
  readonly proof: Proof & { readonly acr: string }
}

export interface Assertions {
  /** `allowed` are the passkeys that will do, all where there are none; `verifies` asks for PIN, finger or face. */
  ask(asked: Asked, allowed: readonly KnownPasskey[], verifies: boolean): AssertionForm
  /** Who it is, and how sure that is; or what to tell them. */
  take(asked: Asked, wire: Wire, call: BrowserCall): Promise<Proven | Refusal>
}

export const ONE_FACTOR = '1'
export const PHISHING_RESISTANT = 'phr'
/** One text whatever is wrong with it: nobody learns who has an account, or whose is disabled. */
const REFUSED = message(
  'This passkey cannot be used here. Choose another one, or sign in with your password.',
)
const TOO_LATE = message('This took too long, or was sent twice. Please try once more.')

const refusal = (unknown?: string): Refusal => ({
  text: REFUSED,
  status: 403,
  ...(unknown === undefined ? {} : { unknown }),
})
/** Nothing was found out: it is no guess. */
const tooLate: Refusal = { text: TOO_LATE, status: 403 }

export function createAssertions(
  { oauth }: FastifyInstance,
  party: RelyingParty,
  passkeys: OwnPasskeys,
  challenges: Challenges,
): Assertions {
  const throttle = oauth.throttle('passkey')
  const parse = compileParameters(
    Type.Object({ issued: Type.Optional(Type.String()), credential: Type.Optional(Type.String()) }),
  )

  function tell(userId: string, reason: 'counter' | 'proof' | 'disabled' | 'another user'): Refusal {
    oauth.audit.observe({ type: 'user.passkey_refused', user: userId, details: { reason } })
    return refusal()
  }

  async function check({ id, known }: Asked, wire: Wire): Promise<Proven | Refusal> {
    const { issued = '', credential = '' } = parse(wire)
    const response = readAssertion(credential)
    if (response === null) return refusal()
    if (!challenges.isOpen(issued)) return tooLate
    const found = await passkeys.find(response.id)
    if (found === null) return refusal(response.id)
    const { userId, passkey } = found
    const seen = await verifyAssertion(party, response, passkey.value, (challenge) =>
      challenges.matches(id, { challenge, issued }),
    )
    if (seen === null) return tell(userId, 'proof')
    if (known !== null && known.id !== userId) return tell(userId, 'another user')
    // Not before: strangers would fill what is remembered.
    if (!(await challenges.spend(id, issued))) return tooLate
    const user = await oauth.users.get(userId)
    if (user.disabled) return tell(userId, 'disabled')
    const used = await passkeys.use(userId, response.id, seen)
    if (used === 'gone') return refusal(response.id)
    return used === 'counter' ? tell(userId, 'counter') : { proof: { user, ...factorsOf(seen) } }
  }

  async function checkOnce(asked: Asked, wire: Wire, address: string): Promise<Proven | Refusal> {
    const attempt = await throttle.attempt(null, address)
    try {
      const result = await check(asked, wire)
      if ('proof' in result) attempt.succeeded()
      else if (result !== tooLate) await attempt.failed()
      return result
    } finally {
      attempt.abandoned()
    }
  }

  return {
    ask({ id }, allowed, verifies) {
      const { challenge, issued } = challenges.make(id)
      const options = JSON.stringify(requestOptions(party, challenge, { allowed, verifies }))
      return { issued, options, origin: party.origin }
    },
    async take(asked, wire, call) {
      try {
        const result = await checkOnce(asked, wire, call.request.ip)
        if ('text' in result) call.request.log.info('passkey refused')
        return result
      } catch (error) {
        const { advice, status } = waitFor(error, call)
        return { text: advice, status }
      }
    },
  }
}

/**
 * RFC 8176: a key that is copied to other devices lives in software; `user` is that somebody was there. `phr` is of the ACR values of
 * OpenID Enhanced Authentication Profile §2.
 */
function factorsOf({ syncable, userVerified }: Seen): Required<Pick<Proof, 'amr' | 'acr'>> {
  const key = [syncable ? 'swk' : 'hwk', 'user']
  return userVerified ? { amr: [...key, 'mfa'], acr: PHISHING_RESISTANT } : { amr: key, acr: ONE_FACTOR }
}
