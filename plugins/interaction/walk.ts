/** Takes interactions from page to page, and to their end where no page is left. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ApprovalRequest } from '../../src/doors/approval.ts'
import type {
  BrowserCall,
  Elsewhere,
  Interaction,
  InteractionStep,
  Shown,
  StepPage,
} from '../../src/doors/interaction.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { isOurs } from '../../src/services/users/ourselves.ts'
import { STEPS } from '../browser/index.ts'
import { clientView } from '../pages/client-view.ts'
import type { Pages } from '../pages/models.ts'
import { type Endings, isEnd } from './endings.ts'
import { WentOn } from './over.ts'
import type { FindPosition, Pending, Position } from './position.ts'
import { promptsOf } from './prompt.ts'
import type { InteractionStore, Stored } from './store.ts'
import type { Visitors } from './visitors.ts'

/** What the address of a page says of its interaction. */
export interface Address {
  readonly id: string
  readonly sealed: string
}

export interface Loaded {
  stored: Stored
  interaction: Interaction
}

/** What a step made of its form. */
export type Submitted = Awaited<ReturnType<InteractionStep['submit']>>

export interface Walk {
  /** Where a `form` of it came, for who sent that: it may have been sent before, and its session be another one since. */
  load(address: Address, call: BrowserCall, form?: Wire): Promise<Loaded>
  /** Answers with what is next. */
  proceed(loaded: Loaded, call: BrowserCall): Promise<FastifyReply>
  /**
   * Stores what the step found out, then answers with what is next: the session may be another one from here on. For someone else it
   * begins anew, and stays as it is for who comes back to it.
   */
  goOn(
    loaded: Loaded,
    step: InteractionStep,
    wire: Wire,
    result: Exclude<Submitted, StepPage | Elsewhere>,
    call: BrowserCall,
  ): Promise<FastifyReply>
  show(interaction: Interaction, pending: Pending, call: BrowserCall): FastifyReply
}

export interface WalkOptions {
  store: InteractionStore
  visitors: Visitors
  endings: Endings
  findPosition: FindPosition
}

export function createWalk(fastify: FastifyInstance, options: WalkOptions): Walk {
  const { browser } = fastify
  const { BRAND_NAME: ourName } = kernelOf(fastify).config
  const { store, visitors, endings, findPosition } = options

  const show: Walk['show'] = ({ request, formFor }, { step, page }, call) => {
    const name = isOurs(request) ? { name: ourName, claim: null } : {}
    const client = { ...clientView(request), ...name }
    const model = { ...formFor(step.name), client, ...page.model }
    return call.reply.page(page.page as keyof Pages, model as never, { status: page.status ?? 200 })
  }

  /** With what the browser has shown by itself; nobody is there any more where the session has ended meanwhile. */
  async function raise(
    stored: Stored,
    { request, session: before }: Interaction,
    shown: Shown,
    call: BrowserCall,
  ): Promise<Loaded> {
    const session = before === null ? null : await browser[STEPS].raise(call, before, shown, request)
    return { stored, interaction: await visitors.of(stored, request, session, call) }
  }

  /** `isThere`: whether the browser is at the interaction's own address, or another that can be loaded again. */
  async function walkOn(
    { stored, interaction }: Loaded,
    call: BrowserCall,
    isThere: boolean,
  ): Promise<FastifyReply> {
    const { asked } = stored
    let position: Position
    try {
      position = await findPosition(interaction, call)
    } catch (error) {
      if (!isEnd(error)) throw error
      return endings.end(stored, interaction, () => endings.deny(asked, interaction.request, error, call))
    }
    const { pending, found } = position
    if (found !== undefined) return walkOn(await raise(stored, interaction, found.shown, call), call, isThere)
    if (pending === undefined) {
      // Memory may be behind: else the page they are led to, at another process, would send them back here.
      const { request, session } = interaction
      const asStored = await visitors.of(stored, request, session, call, { letsOn: true })
      if (asStored.missing.length > 0) return walkOn({ stored, interaction: asStored }, call, isThere)
      return endings.end(stored, interaction, () => endings.approve(asked, interaction, position, call))
    }
    if (!isThere) return call.reply.redirect(store.addressOf(stored), 303)
    return show(interaction, pending, call)
  }

  return {
    show,
    proceed: async (loaded, call) => walkOn(loaded, call, call.request.method !== 'POST'),

    async load({ id, sealed }, call, form) {
      const stored = await store.get(id, sealed, browser.id(call))
      const request = await store.revive(stored.asked)
      await endings.check(stored.asked, request)
      // Only now is it asked who is there: a session may have been renewed by what is noted.
      if (form !== undefined) await browser[STEPS].adopt(call, form)
      return { stored, interaction: await visitors.underWay(stored, request, call, form) }
    },

    async goOn({ stored, interaction: { request, session: before } }, step, wire, result, call) {
      if ('someoneElse' in result) {
        const { outcome, state } = stored.asked
        // Whoever gave the password alone is not waited for any more.
        if (before?.pending === true) await browser[STEPS].abandon(call)
        const anew = store.begin(forSomeoneElse(request), outcome, state, browser.id(call))
        return call.reply.redirect(store.addressOf(anew), 303)
      }
      let session = result.session ?? before
      if (result.shown !== undefined && session !== null)
        session = await browser[STEPS].raise(call, session, result.shown, request, wire)
      // It has ended meanwhile, as by a form that was sent twice.
      if (result.shown !== undefined && session === null) throw new WentOn(store.addressOf(stored))
      const noted = await store.note(stored, step, result.note, session)
      // What it came by may be good once, as an upstream's answer is.
      return walkOn(
        { stored: noted, interaction: await visitors.of(noted, request, session, call) },
        call,
        false,
      )
    },
  }
}

/** As if it had come with `prompt=select_account` (OpenID Connect Core §3.1.2.1). */
function forSomeoneElse(request: ApprovalRequest): ApprovalRequest {
  const prompt = [...promptsOf(request), 'select_account']
  return { ...request, parameters: { ...request.parameters, prompt } }
}
