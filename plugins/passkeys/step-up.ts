/**
 * The step `passkey`: who signed in with less than is asked for, and has a passkey, shows it in addition. It comes after other factors that somebody
 * has, and before anything is set up for who has none.
 */
import type { FastifyInstance } from 'fastify'
import type { Interaction, StepPage } from '../../src/doors/interaction.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { takeWayOut, type WaysOut, waysOut } from '../interaction/ways-out.ts'
import type { ClientView } from '../pages/models.ts'
import { reachesAcr } from '../require-scope/acr.ts'
import { type AssertionForm, type Assertions, PHISHING_RESISTANT, type Refusal } from './assertions.ts'
import type { OwnPasskeys } from './passkeys.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'passkey-step': PasskeyStep
    'passkey-instead': AssertionForm & { action: string; csrfToken: string }
  }
}

export interface PasskeyStep extends AssertionForm, WaysOut {
  client: ClientView
  action: string
  csrfToken: string
  /** Back to the page that asks for a code, where there is one. */
  links: readonly { id: string; href: string; text: Words }[]
  error: Words | null
}

const NAME = 'passkey-step'
/** On the page that asks for a code. */
const INSTEAD = 'passkey-instead'
const TO_CODE = { id: 'another-way', text: message('Use your authenticator app') }
const NOT_VERIFIED = message(
  'This passkey did not ask for your finger, your face or a PIN. Use one that does.',
)

export async function addStepUp(
  { oauth, pages }: FastifyInstance,
  passkeys: OwnPasskeys,
  assertions: Assertions,
): Promise<void> {
  await pages.add(NAME, new URL('../../templates/passkey-step.eta', import.meta.url), { kind: 'interaction' })
  await pages.add(INSTEAD, new URL('../../templates/passkey-instead.eta', import.meta.url))

  /** Null where the user has none. */
  async function ask({ id, session }: Interaction): Promise<AssertionForm | null> {
    const allowed = session === null ? [] : await passkeys.list(session.userId)
    return allowed.length === 0 ? null : assertions.ask({ id, known: null }, allowed, true)
  }

  /** Null where the user has none. */
  async function page(interaction: Interaction, refused?: Refusal): Promise<StepPage | null> {
    const form = await ask(interaction)
    if (form === null) return null
    const links = (await isLeftToCode(interaction)) ? [{ ...TO_CODE, href: interaction.address }] : []
    const { username } = await oauth.users.get(interaction.session!.userId)
    const ways = waysOut(interaction, NAME, username)
    const model = { ...form, ...ways, links, error: refused?.text ?? null }
    return { page: NAME, model, status: refused?.status ?? 200 }
  }

  /** Whether a passkey brings somebody nearer to what is missing. */
  const isAsked = ({ missing }: Interaction): boolean =>
    missing.some(({ acr = [] }) => acr.some((one) => reachesAcr(PHISHING_RESISTANT, one)))

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
    run: async (interaction) =>
      (isAsked(interaction) && !(await isLeftToCode(interaction)) ? await page(interaction) : null) ?? 'done',
    async instead(interaction) {
      const form = isAsked(interaction) ? await ask(interaction) : null
      return form && { part: INSTEAD, model: { ...form } }
    },
    async submit(interaction, wire, call, part) {
      const shown = async () => (await page(interaction)) ?? { note: {} }
      const out = await takeWayOut(oauth, interaction, part, shown)
      if (out !== undefined) return out
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
