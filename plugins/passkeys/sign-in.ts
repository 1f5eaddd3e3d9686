/**
 * The way to sign in `passkey`: a button, and what browsers suggest at the field of the user name. Nobody says who they are first: the passkey
 * does. One that verified its user is two factors by itself and withstands phishing, so it reaches `phr`; one that was only touched is one.
 */
import type { FastifyInstance } from 'fastify'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import type { Proof, SignInAsked, SignInElement } from '../../src/doors/sign-in.ts'
import { waitFor } from '../../src/http/wait.ts'
import { type ClaimsRequest, requestedAcr } from '../../src/protocol/claims-request.ts'
import { compileParameters } from '../../src/protocol/parameters.ts'
import type { RelyingParty } from '../../src/protocol/relying-party.ts'
import { Type } from '../../src/protocol/schema.ts'
import { requestOptions, type Seen, verifyAssertion } from './ceremonies.ts'
import type { Challenges } from './challenges.ts'
import type { KnownPasskey, OwnPasskeys } from './passkeys.ts'
import { readAssertion } from './responses.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'login-passkey': PasskeyElement
  }
}

export interface PasskeyElement {
  action: string
  csrfToken: string
  /** What the challenge is made from. */
  issued: string
  /** JSON, for `PublicKeyCredential.parseRequestOptionsFromJSON`. */
  options: string
  /** Where it can be used. */
  origin: string
  error: string | null
  /** The id of one that nobody has: its authenticator may forget it. `''` for none. */
  unknown: string
}

/** One text whatever is wrong with it: nobody learns who has an account, or whose is disabled. */
const REFUSED = 'This passkey cannot be used here. Choose another one, or sign in with your password.'
const TOO_LATE = 'This took too long, or was sent twice. Please try once more.'

/** What was sent, and does not sign in. */
interface Refusal {
  readonly text: string
  /** For the log. */
  readonly why: string
  readonly unknown?: string
}

const refusal = (why: string): Refusal => ({ text: REFUSED, why })
const tooLate: Refusal = { text: TOO_LATE, why: 'too late' }

export async function addSignIn(
  { oauth, pages }: FastifyInstance,
  party: RelyingParty,
  passkeys: OwnPasskeys,
  challenges: Challenges,
): Promise<void> {
  const throttle = oauth.throttle('passkey')
  const parse = compileParameters(
    Type.Object({ issued: Type.Optional(Type.String()), credential: Type.Optional(Type.String()) }),
  )
  await pages.add('login-passkey', new URL('../../templates/login-passkey.eta', import.meta.url))
  await pages.addAsset(
    'passkey-sign-in.js',
    new URL('../../templates/assets/passkey-sign-in.js', import.meta.url),
  )

  /** Null for somebody who has to show again that it is them, and has none. */
  async function element(
    asked: SignInAsked,
    { text, unknown = '' }: Partial<Refusal> = {},
    status = 403,
  ): Promise<SignInElement | null> {
    const allowed: KnownPasskey[] = asked.known === null ? [] : await passkeys.list(asked.known.id)
    if (asked.known !== null && allowed.length === 0) return null
    const { challenge, issued } = challenges.make(asked.id)
    const options = requestOptions(party, challenge, { allowed, verifies: wantsVerified(asked) })
    return {
      part: 'login-passkey',
      model: { issued, options: JSON.stringify(options), origin: party.origin, error: text ?? null, unknown },
      ...(text === undefined ? {} : { refused: true, status }),
    }
  }

  function tell(userId: string, reason: 'counter' | 'proof' | 'disabled' | 'another user'): Refusal {
    oauth.audit.observe({ type: 'user.passkey_refused', user: userId, details: { reason } })
    return refusal(reason)
  }

  async function check(asked: SignInAsked, issued: string, text: string): Promise<Proof | Refusal> {
    const response = readAssertion(text)
    if (response === null) return refusal('no assertion')
    if (!challenges.isOpen(issued)) return tooLate
    const found = await passkeys.find(response.id)
    if (found === null) return { ...refusal('unknown'), unknown: response.id }
    const { userId, passkey } = found
    const seen = await verifyAssertion(party, response, passkey.value, (challenge) =>
      challenges.matches(asked.id, { challenge, issued }),
    )
    if (seen === null) return tell(userId, 'proof')
    if (asked.known !== null && asked.known.id !== userId) return tell(userId, 'another user')
    // Not before: strangers would fill what is remembered.
    if (!(await challenges.spend(asked.id, issued))) return tooLate
    const user = await oauth.users.get(userId)
    if (user.disabled) return tell(userId, 'disabled')
    const used = await passkeys.use(userId, response.id, seen)
    if (used === 'gone') return { ...refusal('unknown'), unknown: response.id }
    return used === 'counter' ? tell(userId, 'counter') : { user, ...factorsOf(seen) }
  }

  async function tryOnce(
    asked: SignInAsked,
    call: BrowserCall,
    { issued = '', credential = '' }: { issued?: string; credential?: string },
  ): Promise<Proof | Refusal> {
    const attempt = await throttle.attempt(null, call.request.ip)
    try {
      const result = await check(asked, issued, credential)
      if ('user' in result) attempt.succeeded()
      else if (result !== tooLate) await attempt.failed()
      return result
    } finally {
      attempt.abandoned()
    }
  }

  oauth.register('signInMethod', 'passkey', {
    autofill: 'webauthn',
    offer: async (asked) => element(asked),
    async submit(asked, wire, call) {
      const sent = parse(wire)
      let result: Proof | Refusal
      try {
        result = await tryOnce(asked, call, sent)
      } catch (error) {
        const { advice, status } = waitFor(error, call)
        return shown(await element(asked, { text: advice }, status))
      }
      if ('user' in result) return { proof: result }
      call.request.log.info({ why: result.why }, 'passkey refused')
      return shown(await element(asked, result))
    },
  })
}

/** The last one may have been removed meanwhile, elsewhere. */
function shown(element: SignInElement | null): SignInElement | { state: unknown } {
  return element ?? { state: null }
}

/**
 * RFC 8176: a key that is copied to other devices lives in software; `user` is that somebody was there. `phr` is of the ACR values of
 * OpenID Enhanced Authentication Profile §2.
 */
function factorsOf({ syncable, userVerified }: Seen): Pick<Proof, 'amr' | 'acr'> {
  const key = [syncable ? 'swk' : 'hwk', 'user']
  return userVerified ? { amr: [...key, 'mfa'], acr: 'phr' } : { amr: key, acr: '1' }
}

/** Whether more than one factor is asked for: authenticators that can ask for a PIN or a finger must do so then. */
function wantsVerified({ request: { parameters }, missing }: SignInAsked): boolean {
  const wished = ((parameters['acr_values'] as string | undefined) ?? '').split(' ')
  const claims = parameters['claims'] as ClaimsRequest | undefined
  const named = (claims === undefined ? undefined : requestedAcr(claims))?.values ?? []
  const isMore = (acr: string): boolean => acr === '2' || acr === 'phr'
  return missing.length > 0 || [...wished, ...named].some(isMore)
}
