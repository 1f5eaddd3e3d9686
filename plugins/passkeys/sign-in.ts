/**
 * The way to sign in `passkey`: a button, and what browsers suggest at the field of the user name. Nobody says who they are first: the passkey
 * does. One that verified its user is two factors by itself and withstands phishing, so it reaches `phr`; one that was only touched is one.
 */
import type { FastifyInstance } from 'fastify'
import type { SignInAsked, SignInElement } from '../../src/doors/sign-in.ts'
import { askedAcr } from '../../src/protocol/acr.ts'
import type { Words } from '../../src/protocol/message.ts'
import {
  type AssertionForm,
  type Assertions,
  ONE_FACTOR,
  PHISHING_RESISTANT,
  type Refusal,
} from './assertions.ts'
import type { OwnPasskeys } from './passkeys.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'login-passkey': PasskeyElement
  }
}

export interface PasskeyElement extends AssertionForm {
  action: string
  csrfToken: string
  error: Words | null
  /** The id of one that nobody has: its authenticator may forget it. `''` for none. */
  unknown: string
}

const ELEMENT = 'login-passkey'

export async function addSignIn(
  { oauth, pages }: FastifyInstance,
  passkeys: OwnPasskeys,
  assertions: Assertions,
): Promise<void> {
  const file = (name: string): URL => new URL(`../../templates/${name}`, import.meta.url)
  await pages.add(ELEMENT, file('login-passkey.eta'))
  await pages.addAsset('passkey-sign-in.js', file('assets/passkey-sign-in.js'))

  /** Null for somebody who has to show again that it is them, and has none. */
  async function element(asked: SignInAsked, refused?: Refusal): Promise<SignInElement | null> {
    const allowed = asked.known === null ? [] : await passkeys.list(asked.known.id)
    if (asked.known !== null && allowed.length === 0) return null
    const form = assertions.ask(asked, allowed, wantsVerified(asked))
    return {
      part: ELEMENT,
      model: { ...form, error: refused?.text ?? null, unknown: refused?.unknown ?? '' },
      ...(refused === undefined ? {} : { refused: true, status: refused.status }),
    }
  }

  oauth.register('signInMethod', 'passkey', {
    autofill: 'webauthn',
    reaches: {
      acr: [ONE_FACTOR, PHISHING_RESISTANT],
      by: async ({ id }) => (await passkeys.list(id)).length > 0,
    },
    offer: async (asked) => element(asked),
    async submit(asked, wire, call) {
      const result = await assertions.take(asked, wire, call)
      if ('proof' in result) return result
      // The last one may have been deleted meanwhile, elsewhere.
      return (await element(asked, result)) ?? { state: null }
    },
  })
}

/** Whether more than one factor is asked for: authenticators that can ask for a PIN or a finger must do so then. */
function wantsVerified({ request: { parameters }, missing }: SignInAsked): boolean {
  const { demanded, wished } = askedAcr(parameters)
  return (
    missing.length > 0 || [...demanded, ...wished].some((acr) => acr === '2' || acr === PHISHING_RESISTANT)
  )
}
