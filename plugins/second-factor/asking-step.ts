/** The interaction step `factor`: a code of the app, or a recovery code, of who has set one up, where a policy demands it. */
import type {
  BrowserCall,
  Interaction,
  InteractionStep,
  StepElement,
  StepPage,
} from '../../src/doors/interaction.ts'
import { logFailure, toOAuthError } from '../../src/http/errors.ts'
import { waitFor, type Waiting } from '../../src/http/wait.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { UnreadableError } from '../../src/services/keys/secret-box.ts'
import type { ClientView } from '../pages/models.ts'
import { isFactorMissing } from './missing.ts'
import { NOT_RIGHT, SHOWN, UNREADABLE, type Factors } from './factors.ts'
import { takeWayOut, type WaysOut, waysOut } from '../interaction/ways-out.ts'

export interface FactorPage extends WaysOut {
  client: ClientView
  action: string
  csrfToken: string
  /** Whether a recovery code is asked for, in the place of one of the app. */
  recovery: boolean
  /** The page that asks for the other one; that of recovery codes has the other ways too. */
  otherUri: string
  /** What other steps have in its place. */
  others: readonly StepElement[]
  error: Words | null
  /** Until another try is looked at; null for at once. */
  wait: Waiting | null
}

const STEP = 'factor'
/** Of forms and of the query: who has lost the app. */
const RECOVERY = 'recovery'
const NO_SUCH_CODE = message('That is not one of your recovery codes, or it was used already.')
/** What a browser shows that the factor was given on before: its owner is known by it, which RFC 8176 §2 calls risk-based. */
const REMEMBERED = { amr: ['rba', 'mfa'], acr: '2' } as const

interface Refusal {
  readonly error: Words
  readonly status: number
  readonly wait?: Waiting
}

export function createAskingStep(factors: Factors): InteractionStep {
  const { authenticators, recoveryCodes, remembered, guess, fastify } = factors
  const { users } = fastify.oauth

  const setUpAt = async (userId: string): Promise<number | null> =>
    (await authenticators.find(userId))?.since ?? null

  async function page(interaction: Interaction, recovery: boolean, refusal?: Refusal): Promise<StepPage> {
    const { address, formFor, insteadOf, session } = interaction
    const { username } = await users.get(session!.userId)
    const model = {
      ...formFor(STEP, recovery ? RECOVERY : undefined),
      ...waysOut(interaction, STEP, username),
      recovery,
      otherUri: recovery ? address : `${address}&way=${RECOVERY}`,
      others: await insteadOf(STEP),
      error: refusal?.error ?? null,
      wait: refusal?.wait ?? null,
    }
    return { page: 'factor', model, status: refusal?.status ?? 200 }
  }

  return {
    name: STEP,
    phase: 'authenticate',
    required: 'login_required',
    async run(interaction, call) {
      const { session, missing } = interaction
      if (session === null || !isFactorMissing(missing) || !(await authenticators.has(session.userId)))
        return 'done'
      const user = await users.get(session.userId)
      if (await remembered.isRemembered(call, user, async () => setUpAt(user.id)))
        return { shown: REMEMBERED }
      return page(interaction, isRecovery(call))
    },
    async submit(interaction, { code, remember }, call, part) {
      const out = await takeWayOut(fastify.oauth, interaction, part, async () => page(interaction, false))
      if (out !== undefined) return out
      const recovery = part === RECOVERY
      const user = await users.get(interaction.session!.userId)
      const spend = recovery ? recoveryCodes.spend : authenticators.spend
      try {
        if (!(await guess(user, call, async () => spend(user.id, String(code ?? ''))))) {
          const details = { factor: recovery ? 'recovery_code' : 'authenticator' }
          const error = recovery ? NO_SUCH_CODE : NOT_RIGHT
          const refused = await page(interaction, recovery, { error, status: 403 })
          return { ...refused, event: { type: 'user.factor_failed', user: user.id, details } }
        }
      } catch (error) {
        if (error instanceof UnreadableError) {
          logFailure(toOAuthError(error, call.request), call.request)
          return page(interaction, recovery, { error: UNREADABLE, status: 403 })
        }
        const { text, status, seconds, until } = waitFor(error, call)
        return page(interaction, recovery, { error: text, status, wait: { seconds, until } })
      }
      const since = remember === undefined ? null : await setUpAt(user.id)
      if (since !== null) remembered.remember(call, user, since)
      return { note: {}, shown: SHOWN }
    },
    again: async (interaction, _wire, _call, part) => page(interaction, part === RECOVERY),
  }
}

/** By the query of the page's address. */
function isRecovery({ request }: BrowserCall): boolean {
  return new URLSearchParams(request.url.split('?')[1]).get('way') === RECOVERY
}
