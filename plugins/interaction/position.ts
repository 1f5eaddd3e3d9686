/** How far an interaction has come through the steps, phase by phase in the order of their registration. */
import type {
  BrowserCall,
  Interaction,
  InteractionStep,
  Shown,
  StepFacts,
  StepPage,
} from '../../src/doors/interaction.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { isOurs } from '../../src/services/users/ourselves.ts'
import { isFresh } from '../sign-in.ts'
import { withFacts } from './granted.ts'
import { LOGIN, type Phases } from './phases.ts'

export interface Position {
  /** The first step that is not done; undefined when all are. */
  pending?: Pending
  /** What the browser has shown of a factor, without being asked: all is asked again once the session has it. */
  found?: { step: InteractionStep; shown: Shown }
  /** What those that are done add to what will be granted. */
  facts: StepFacts['granted']
  /** Scopes that any of them takes away. */
  declined: ReadonlySet<string>
}

export interface Pending {
  step: InteractionStep
  page: StepPage
}

/** Throws what a step ends the interaction with. */
export type FindPosition = (interaction: Interaction, call: BrowserCall) => Promise<Position>

const NONE: ReadonlySet<string> = new Set()

export function createFindPosition(phases: () => Phases): FindPosition {
  /** The page that asks for a sign-in before that of the step; undefined where there was one a moment ago, or on the way. */
  async function signInFirst(
    step: InteractionStep,
    interaction: Interaction,
    call: BrowserCall,
  ): Promise<Pending | undefined> {
    const { session } = interaction
    const isAsked = session !== null && !isFresh(session) && (await step.needsFresh?.(interaction)) === true
    const login = isAsked ? phases().find(LOGIN) : undefined
    if (login === undefined) return undefined
    const page = await login.run(interaction, call, { fresh: true })
    return page !== 'done' && 'page' in page ? { step: login, page } : undefined
  }

  return async (interaction, call) => {
    const { request, session, missing } = interaction
    const { authenticate, approve } = phases()
    let facts: Position['facts'] = {}
    let declined: Position['declined'] = NONE
    for (const steps of isOurs(request) ? [authenticate] : [authenticate, approve]) {
      for (const step of steps) {
        const found = await step.run(interaction, call)
        if (found === 'done') continue
        if ('page' in found) {
          const first = await signInFirst(step, interaction, call)
          return { pending: first ?? { step, page: found }, facts, declined }
        }
        if ('shown' in found) return { found: { step, shown: found.shown }, facts, declined }
        facts = withFacts(facts, found.granted)
        if (found.declined !== undefined) declined = new Set([...declined, ...found.declined])
      }
      // No step had more to ask for.
      if (session !== null && missing.length > 0) throw unmet()
    }
    if (session === null)
      throw new OAuthError('login_required', 'nobody is signed in, and no way to sign in is registered here')
    return { facts, declined }
  }
}

function unmet(): OAuthError {
  return new OAuthError('unmet_authentication_requirements', 'no sign-in here reaches what is required')
}
