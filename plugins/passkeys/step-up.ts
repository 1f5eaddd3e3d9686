/**
 * The step `passkey`: who signed in with less than is asked for, and has a passkey, shows it in addition. It comes after other factors that somebody
 * has, and before anything is set up for who has none.
 */
import type { FastifyInstance } from 'fastify'
import type { Interaction, StepPage } from '../../src/doors/interaction.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { reachesAcr } from '../require-scope/acr.ts'
import { type AssertionForm, type Assertions, PHISHING_RESISTANT, type Refusal } from './assertions.ts'
import type { OwnPasskeys } from './passkeys.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'passkey-step': PasskeyStep
  }
}

export interface PasskeyStep extends AssertionForm {
  action: string
  csrfToken: string
  error: Words | null
}

const NAME = 'passkey-step'
const NOT_VERIFIED = message(
  'This passkey did not ask for your finger, your face or a PIN. Use one that does.',
)

export async function addStepUp(
  { oauth, pages }: FastifyInstance,
  passkeys: OwnPasskeys,
  assertions: Assertions,
): Promise<void> {
  await pages.add(NAME, new URL('../../templates/passkey-step.eta', import.meta.url), { kind: 'interaction' })

  /** Null where the user has none. */
  async function page({ id, session }: Interaction, refused?: Refusal): Promise<StepPage | null> {
    const allowed = session === null ? [] : await passkeys.list(session.userId)
    if (allowed.length === 0) return null
    const form = assertions.ask({ id, known: null }, allowed, true)
    return { page: NAME, model: { ...form, error: refused?.text ?? null }, status: refused?.status ?? 200 }
  }

  /** Whoever has an authenticator app too is asked for its code, where that is enough: it is at hand where a passkey may not be. */
  async function isLeftToCode({ session, missing }: Interaction): Promise<boolean> {
    const isEnough = missing.every(({ acr = [] }) => acr.some((one) => reachesAcr('2', one)))
    return isEnough && session !== null && oauth.users.hasFactors(session.userId)
  }

  oauth.add('interactionStep', {
    name: NAME,
    phase: 'authenticate',
    required: 'login_required',
    reaches: {
      acr: [PHISHING_RESISTANT],
      by: async ({ id }) => (await passkeys.list(id)).length > 0,
    },
    async run(interaction) {
      const isAsked = interaction.missing.some(({ acr = [] }) =>
        acr.some((one) => reachesAcr(PHISHING_RESISTANT, one)),
      )
      return (isAsked && !(await isLeftToCode(interaction)) ? await page(interaction) : null) ?? 'done'
    },
    async submit(interaction, wire, call) {
      const { id, session } = interaction
      const known = { id: session!.userId }
      const result = await assertions.take({ id, known }, wire, call)
      if ('text' in result) return (await page(interaction, result)) ?? { note: {} }
      const { amr, acr } = result.proof
      if (acr === PHISHING_RESISTANT) return { note: {}, shown: { amr, acr } }
      return (await page(interaction, { text: NOT_VERIFIED, status: 403 })) ?? { note: {} }
    },
  })
}
