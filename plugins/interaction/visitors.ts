/** An interaction as the steps see it: whose browser it is, and what is missing for what is asked. */
import type { FastifyInstance } from 'fastify'
import type { ApprovalRequest } from '../../src/doors/approval.ts'
import type { BrowserCall, Interaction, Session } from '../../src/doors/interaction.ts'
import { ageOf } from '../../src/protocol/age-of.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { STEPS } from '../browser/index.ts'
import { purposeOf } from './form-check.ts'
import type { Phases } from './phases.ts'
import { promptsOf } from './prompt.ts'
import type { InteractionStore, Stored } from './store.ts'

export interface Visitors {
  /** Before anything is stored: only who is signed in for good counts. */
  atFirst(begin: () => Stored, request: ApprovalRequest, call: BrowserCall): Promise<Interaction>
  /** On its pages, or with a form of one: the session that it opens is the same for the same form. */
  underWay(stored: Stored, request: ApprovalRequest, call: BrowserCall, form?: Wire): Promise<Interaction>
  /** Of this session. With `letsOn` what is missing is read from the database, as before the end. */
  of(
    stored: Stored,
    request: ApprovalRequest,
    session: Session | null,
    call: BrowserCall,
    options?: { readonly letsOn?: boolean },
  ): Promise<Interaction>
}

const NOTHING_MORE = { amr: [] } as const
const NO_FORM = { action: '', csrfToken: '' } as const

/** Whether nobody may be shown a page for it (OpenID Connect Core §3.1.2.1). */
export function isSilent(request: ApprovalRequest): boolean {
  return promptsOf(request).includes('none')
}

export function createVisitors(
  fastify: FastifyInstance,
  store: InteractionStore,
  phases: () => Phases,
): Visitors {
  const { browser, language, pages } = fastify
  const { assurance } = kernelOf(fastify)

  async function view(
    stored: () => Stored,
    request: ApprovalRequest,
    session: Session | null,
    call: BrowserCall,
    notes: Stored['notes'],
    { letsOn = false }: { readonly letsOn?: boolean } = {},
  ): Promise<Interaction> {
    pages.leadTo(call.request, request.client)
    language.ask(call.request, request.parameters['ui_locales'])
    if (session !== null) language.isFor(call.request, session.userId)
    const purpose = { of: call.request, letsOn }
    const missing = session === null ? [] : await assurance.missing(session.userId, session, request, purpose)
    const interaction: Interaction = {
      get id() {
        return stored().id
      },
      get address() {
        return store.addressOf(stored())
      },
      request,
      session,
      notes,
      missing,
      formFor(step, part) {
        // What nobody will see gives no browser a cookie.
        if (isSilent(request)) return NO_FORM
        const form = part === undefined ? step : `${step}.${part}`
        return {
          action: store.addressOf(stored(), form),
          csrfToken: browser.csrfToken(call, purposeOf(stored().id, session?.userId)),
        }
      },
      async insteadOf(name) {
        const elements = phases()
          .beside(name)
          .map(async (step) => {
            const element = await step.instead!(interaction)
            const model = { ...interaction.formFor(step.name), ...element?.model }
            return element === null ? [] : [{ part: element.part, model }]
          })
        return (await Promise.all(elements)).flat()
      },
    }
    return interaction
  }

  /** Whoever signed in last, for good or not yet. What lacks nothing for this request is a session from here on. */
  async function latest(request: ApprovalRequest, call: BrowserCall, form?: Wire): Promise<Session | null> {
    const session = await browser.session(call.request)
    const begun = await browser[STEPS].unfinished(call.request)
    const now = Date.now()
    const age = (one: Session): number => ageOf(one.authenticatedAt, now)
    if (begun === null || (session !== null && age(session) <= age(begun))) return session
    const purpose = { of: call.request, letsOn: true }
    const missing = await assurance.missing(begun.userId, begun, request, purpose)
    return missing.length > 0 ? begun : browser[STEPS].raise(call, begun, NOTHING_MORE, request, form)
  }

  return {
    async atFirst(begin, request, call) {
      return view(begin, request, await browser.session(call.request), call, {})
    },
    underWay: async (stored, request, call, form) =>
      view(() => stored, request, await latest(request, call, form), call, stored.notes),
    of: async (stored, request, session, call, options) =>
      view(() => stored, request, session, call, stored.notes, options),
  }
}
