/**
 * The interaction step `factor-setup`: who must show a factor and has none sets one up on the way, and is shown recovery codes. The last
 * resort: whoever has another factor, of another plugin, is asked for that.
 */
import type { Words } from '../../src/protocol/message.ts'
import type { Interaction, InteractionStep, StepPage } from '../../src/doors/interaction.ts'
import { waitFor } from '../../src/http/wait.ts'
import type { ClientView } from '../pages/models.ts'
import { isFactorMissing } from './missing.ts'
import { NOT_RIGHT, SHOWN, type Factors } from './factors.ts'
import { totpForm, type TotpForm } from './totp-form.ts'
import { takeWayOut, type WaysOut, waysOut } from '../interaction/ways-out.ts'

export interface FactorSetupPage extends WaysOut {
  client: ClientView
  totp: TotpForm
}

export interface SetupCodesPage {
  action: string
  csrfToken: string
  codes: readonly string[]
}

const STEP = 'factor-setup'
/** Of the form by which somebody has seen the codes. */
const SAVED = 'saved'

interface Note {
  /** The codes that are to be shown, sealed: notes are stored. */
  readonly codes?: string
  /** Whose they are, by the id: somebody else may sign in at the same address. */
  readonly user?: string
  /** They have been seen. */
  readonly saved?: true
}

export function createSetupStep({
  kernel,
  authenticators,
  recoveryCodes,
  guess,
  fastify,
}: Factors): InteractionStep {
  const { box } = kernel
  const { users } = fastify.oauth
  const issuer = new URL(fastify.oauth.issuer).host
  const contextOf = ({ id }: Interaction, userId: string): string =>
    `recovery codes on the way\0${id}\0${userId}`
  /** Somebody else may sign in at the same address. */
  const keyOf = ({ id }: Interaction, userId: string): string => `${id} ${userId}`

  async function page(interaction: Interaction, error: Words | null = null, status = 200): Promise<StepPage> {
    const { username, id } = await users.get(interaction.session!.userId)
    const secret = await authenticators.offer(keyOf(interaction, id), id)
    const totp = await totpForm(interaction.formFor(STEP), { secret, issuer, username }, error)
    return { page: 'factor-setup', model: { totp, ...waysOut(interaction, STEP, username) }, status }
  }

  const isNeeded = async ({ session, missing }: Interaction): Promise<boolean> =>
    session !== null && isFactorMissing(missing) && !(await authenticators.has(session.userId))

  return {
    name: STEP,
    phase: 'authenticate',
    lastResort: true,
    required: 'login_required',
    reaches: { acr: [SHOWN.acr], ready: async ({ id }) => authenticators.has(id) },
    needsFresh: isNeeded,
    async run(interaction) {
      const { session, notes, formFor } = interaction
      const { codes: sealed, user, saved = false } = (notes[STEP] as Note | undefined) ?? {}
      if (session === null) return 'done'
      if (sealed !== undefined && user === session.userId && !saved) {
        const codes = JSON.parse(box.tryOpen(sealed, contextOf(interaction, user)) ?? '[]') as string[]
        // Those of a factor that was reset meanwhile, or that others replaced, are good for nothing.
        if (await recoveryCodes.areGood(user, codes))
          return { page: 'factor-setup-codes', model: { ...formFor(STEP, SAVED), codes } }
      }
      return (await isNeeded(interaction)) ? page(interaction) : 'done'
    },
    async submit(interaction, { code }, call, part) {
      const out = await takeWayOut(fastify.oauth, interaction, part, async () => page(interaction))
      if (out !== undefined) return out
      if (part === SAVED) return { note: { saved: true } satisfies Note }
      const user = await users.get(interaction.session!.userId)
      try {
        const add = async () => authenticators.add(keyOf(interaction, user.id), user.id, String(code ?? ''))
        if (!(await guess(user, call, add))) {
          // By the same form, which came twice.
          if (await authenticators.has(user.id)) return { note: {} satisfies Note }
          return await page(interaction, NOT_RIGHT, 403)
        }
      } catch (error) {
        const { advice, status } = waitFor(error, call)
        return page(interaction, advice, status)
      }
      const codes = JSON.stringify(await recoveryCodes.make(user.id))
      const sealed = box.seal(codes, contextOf(interaction, user.id))
      return { note: { codes: sealed, user: user.id } satisfies Note, shown: SHOWN }
    },
    again: async (interaction) => page(interaction),
    // New codes begin anew: those before them were seen, or are somebody else's.
    merge: (before, now): Note =>
      'codes' in (now as Note) ? (now as Note) : { ...(before as Note), ...(now as Note) },
  }
}
