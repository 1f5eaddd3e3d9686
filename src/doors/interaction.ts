/**
 * The doors that people come to: what stands, page by page in their browser, between a request for approval and its
 * answer. The requests themselves are in `approval.ts`.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ApprovalRequest } from './approval.ts'
import type { Reach, Requirement } from './assurance.ts'
import type { Granted } from './facts.ts'
import type { NewEvent } from '../events.ts'
import type { Bag } from '../protocol/bag.ts'
import type { OAuthError } from '../protocol/errors.ts'
import type { Wire } from '../protocol/wire.ts'

/** The browser session of a signed-in user. */
export interface Session {
  readonly sid: string
  readonly userId: string
  /** Milliseconds since the epoch. */
  readonly authenticatedAt: number
  /** RFC 8176. */
  readonly amr: readonly string[]
  /** OpenID Connect Core §2; null where it reached none. */
  readonly acr: string | null
  /** Of one that lacks a factor still: only the steps of a sign-in ever see it, and it opens nothing. */
  readonly pending?: true
}

/** One request for approval on its way through the steps. */
export interface Interaction {
  /** 256 random bits, the same from the first page to the last: what a challenge of the plugin's own can be kept under. */
  readonly id: string
  /**
   * What is asked for. Where a page of ours asks who is there, its client is the server itself: `clientId` is `''`, no scopes.
   */
  readonly request: ApprovalRequest
  /** Whose browser it is; null before sign-in. A pending one comes to steps of the phase `authenticate` alone. */
  readonly session: Session | null
  /** What the steps noted so far, by step name. */
  readonly notes: Bag
  /** What is required of this sign-in and not shown yet; empty when all is, and before anybody gave a first factor. */
  readonly missing: readonly Requirement[]
  /** The way back to it, for the same browser: a path with its query. */
  readonly address: string
  /** Where a form is sent to that is for a step, and its `csrf_token`; `part` tells forms of one step apart. */
  formFor(step: string, part?: string): { readonly action: string; readonly csrfToken: string }
  /** What other steps have for the page of this one (`InteractionStep.instead`), for its template to print by `part`. */
  insteadOf(step: string): Promise<readonly StepElement[]>
}

/** What somebody has shown beside what they had. */
export interface Shown {
  /** RFC 8176; added to those before. */
  readonly amr: readonly string[]
  /** The one that all of it together reaches; as before where it is not said. */
  readonly acr?: string
}

/** A page of the interaction; its model is completed with `action`, `csrfToken` and `client`. */
export interface StepPage {
  readonly page: string
  readonly model: Bag
  readonly status?: number
}

/** What a form that is not taken leads to. */
export interface RefusalPage extends StepPage {
  /** Observed for the audit log, unless the same person was led on by the same form, which came twice. */
  readonly event?: NewEvent
}

/** What a step has on the page of another: a template that `pages.add` knows, without a title, and its model. */
export interface StepElement {
  readonly part: string
  /** Completed with `action` and `csrfToken` of the step's form. */
  readonly model: Bag
}

/** A page of somebody else's, where the browser is sent next: it comes back to an address of the plugin's own. */
export interface Elsewhere {
  /** An absolute URL. */
  readonly elsewhere: string
}

/**
 * What a step that is done adds to what will be granted: `parameters` beside those of the request that are kept. Of several steps the
 * later `actor` acts now, for the one before it; what has several `parent`s ends with each; the earliest `notAfter` holds; of
 * `parameters` of one name, and of `consent`, the later counts.
 */
export interface StepFacts {
  readonly granted: Pick<Granted, 'consent' | 'actor' | 'notAfter' | 'parent' | 'parameters'>
  /** Scopes of the request that are not granted, whatever other steps say. */
  readonly declined?: ReadonlySet<string>
}

/** One thing that stands between a request and its answer: login, consent, a second factor. */
export interface InteractionStep {
  readonly name: string
  /**
   * Steps that find out who is there come first, and run for pages of ours as well; those that ask what is allowed come after, and see
   * only whom all assurance policies are met for. Within a phase the order is that of registration. Default `approve`.
   */
  readonly phase?: 'authenticate' | 'approve'
  /** Whether it comes after all others of its phase, as what nobody needs who has another factor; default false. */
  readonly lastResort?: boolean
  /** What it can bring somebody to. */
  readonly reaches?: Reach
  /**
   * Whether its page is for what a browser that was left open must not do, as adding a factor: who has signed in more than a moment ago, and
   * not on the way, does it once more before it. Default no.
   */
  needsFresh?(interaction: Interaction): Promise<boolean>
  /** The error when `prompt=none` forbids to show it (OpenID Connect Core §3.1.2.6). */
  readonly required: string
  /**
   * What must be shown; else `'done'`, or what it has found out on the way: `granted`, or what the browser has `shown` of a factor by
   * itself, which the session has from then on. `fresh` is asked of the step `login` alone, before one that `needsFresh`: who has not signed
   * in on the way does it once more. Throws `OAuthError` to end the interaction with that error.
   */
  run(
    interaction: Interaction,
    call: BrowserCall,
    asked?: { readonly fresh?: boolean },
  ): Promise<'done' | StepFacts | StepPage | { shown: Shown }>
  /**
   * What its form sent. Returns a page to show again, or what `run` shall find in `notes` under the step's name, with
   * the session where it began one (`browser.signIn`), or with the factors that the person has `shown` beside those before: the session
   * has them from then on, by a new cookie. `elsewhere` is where the browser goes from here. `someoneElse` is for who is not the one that
   * is signed in: the request is asked again, from the sign-in page on. `part` is that of `formFor`. Throws `OAuthError` to end the interaction.
   */
  submit(
    interaction: Interaction,
    wire: Wire,
    call: BrowserCall,
    part?: string,
  ): Promise<
    RefusalPage | Elsewhere | { note: unknown; session?: Session; shown?: Shown } | { someoneElse: true }
  >
  /**
   * What it has on the page of another step of its phase, for who would rather do this: a form of it that comes from there is taken, and
   * what it answers then is its own page. Null for who is not helped by it. By default nothing.
   */
  instead?(interaction: Interaction): Promise<StepElement | null>
  /** Its page with what was typed, after its form had expired; nothing else is done. Without it, the page as `run` has it. */
  again?(interaction: Interaction, wire: Wire, call: BrowserCall, part?: string): Promise<StepPage>
  /**
   * Whether a form that comes once more, when its step is done, says what it said before, as by a double click; default yes. One that
   * does not has expired.
   */
  repeats?(interaction: Interaction, wire: Wire): Promise<boolean>
  /**
   * Whether a form that comes when its step is done says something else than what that rests on, as from a second tab once the first was
   * answered: it is taken like one that is asked for. Not asked before everybody is known who has to be; default no.
   */
  changes?(interaction: Interaction, wire: Wire, part?: string): Promise<boolean>
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

/** What becomes of an interaction at its end: `approved` or `denied` answers the browser. What they throw leaves the interaction open. */
export interface Outcome {
  /** Asked before each page and each answer: what it throws is shown, and nothing is answered. `state` is what it was started with. */
  check?(request: ApprovalRequest, state: Bag): Promise<void>
  /** Everybody who had to agree has: `granted` is what they allowed. */
  approved(ended: EndedInteraction, granted: Granted, call: BrowserCall): Promise<FastifyReply>
  /** Somebody said no, or a step ended it; `error` is for the client (RFC 6749 §4.1.2.1). */
  denied(ended: EndedInteraction, error: OAuthError, call: BrowserCall): Promise<FastifyReply>
}

export interface EndedInteraction {
  readonly request: ApprovalRequest
  /** What the interaction was started with. */
  readonly state: Bag
}
