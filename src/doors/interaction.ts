/**
 * The doors that people come to: what stands, page by page in their browser, between a request for approval and its
 * answer. The requests themselves are in `approval.ts`.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ApprovalRequest } from './approval.ts'
import type { Granted } from './facts.ts'
import type { Bag } from '../protocol/bag.ts'
import type { OAuthError } from '../protocol/errors.ts'
import type { Wire } from '../protocol/wire.ts'

/** The browser session of a signed-in user. */
export interface Session {
  readonly sid: string
  readonly userId: string
  /** Milliseconds since the epoch. */
  readonly authenticatedAt: number
  readonly amr: readonly string[]
  readonly acr: string | null
}

/** One request for approval on its way through the steps. */
export interface Interaction {
  readonly request: ApprovalRequest
  /** Whose browser it is; null before sign-in. */
  readonly session: Session | null
  /** What the steps noted so far, by step name. */
  readonly notes: Bag
}

/** A page of the interaction; its model is completed with `action`, `csrfToken` and `client`. */
export interface StepPage {
  readonly page: string
  readonly model: Bag
  readonly status?: number
}

/** What a step that is done adds to what will be granted. */
export interface StepFacts {
  readonly granted: Pick<Granted, 'consent' | 'actor' | 'notAfter' | 'parent'>
}

/** One thing that stands between a request and its answer: login, consent, a second factor. */
export interface InteractionStep {
  readonly name: string
  /** The error when `prompt=none` forbids to show it (OpenID Connect Core §3.1.2.6). */
  readonly required: string
  /**
   * What must be shown; else `'done'`, or what it has found out on the way. Throws `OAuthError` to end the interaction with
   * that error.
   */
  run(interaction: Interaction): Promise<'done' | StepFacts | StepPage>
  /**
   * What its form sent. Returns a page to show again, or what `run` shall find in `notes` under the step's name, and
   * the session where it began one. Throws `OAuthError` to end the interaction.
   */
  submit(
    interaction: Interaction,
    wire: Wire,
    call: BrowserCall,
  ): Promise<StepPage | { note: unknown; session?: Session }>
  /** Its page with what was typed, after its form had expired; nothing else is done. Without it, the page as `run` has it. */
  again?(interaction: Interaction, wire: Wire): Promise<StepPage>
  /**
   * One note of two, of a form that was sent more than once. Without it, of two at once the first counts, and whoever sent
   * the other sees what is next.
   */
  merge?(before: unknown, now: unknown): unknown
}

/** A request from a browser. */
export interface BrowserCall {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** What becomes of an interaction at its end. */
export interface Outcome {
  /** Asked before each page and each answer: what it throws is shown, and nothing is answered. */
  check?(request: ApprovalRequest): Promise<void>
  approved(ended: EndedInteraction, granted: Granted, call: BrowserCall): Promise<FastifyReply>
  denied(ended: EndedInteraction, error: OAuthError, call: BrowserCall): Promise<FastifyReply>
}

export interface EndedInteraction {
  readonly request: ApprovalRequest
  /** What the interaction was started with. */
  readonly state: Bag
}
