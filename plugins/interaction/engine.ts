/** Takes interactions through the registered steps, in the order of their registration, to one end each. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ApprovalRequest } from '../../src/doors/approval.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import type {
  BrowserCall,
  Interaction,
  InteractionStep,
  StepFacts,
  StepPage,
} from '../../src/doors/interaction.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import { isTypedAgain } from '../pages/expired-form.ts'
import type { Pages } from '../pages/models.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { clientView } from '../pages/client-view.ts'
import type { Asked } from './asked.ts'
import { createFormCheck, purposeOf } from './form-check.ts'
import { grantedBy } from './granted.ts'
import { createOverPage, type ShowOver } from './over-page.ts'
import { createInteractionStore, type Stored } from './store.ts'

export interface Engine {
  start(request: ApprovalRequest, outcome: string, state: Bag, call: BrowserCall): Promise<FastifyReply>
  /** Answers with what is next. */
  resume(address: Address, call: BrowserCall): Promise<FastifyReply>
  /** Gives the step what its form sent, then answers with what is next. */
  submit(address: Address, step: string, wire: Wire, call: BrowserCall): Promise<FastifyReply>
  /** Says that it is over, and leads on. */
  readonly showOver: ShowOver
}

/** What the address of a page says of its interaction. */
export interface Address {
  readonly id: string
  readonly sealed: string
}

interface Pending {
  step: InteractionStep
  page: StepPage
}

/** How far an interaction has come. */
interface Position {
  /** The first step that is not done; undefined when all are. */
  pending?: Pending
  /** What those that are done add to what will be granted. */
  facts: StepFacts['granted']
}

/** What an interaction leads to. */
type Destination = Pick<Asked, 'outcome' | 'state'>

export function createEngine(fastify: FastifyInstance): Engine {
  const { oauth, browser } = fastify
  const { doors, approvals } = kernelOf(fastify)
  const store = createInteractionStore(kernelOf(fastify))
  const assertForm = createFormCheck(browser, store)

  /** Throws what a step ends the interaction with. */
  async function findPosition(interaction: Interaction): Promise<Position> {
    let facts: Position['facts'] = {}
    for (const step of doors.all('interactionStep')) {
      const found = await step.run(interaction)
      if (found === 'done') continue
      if ('page' in found) return { pending: { step, page: found }, facts }
      facts = { ...facts, ...found.granted }
    }
    return { facts }
  }

  function outcomeOf({ outcome: name }: Destination) {
    const outcome = oauth.owners('outcome').get(name)
    if (outcome === undefined) throw new Error(`there is no outcome ${name}`)
    return outcome
  }

  /** What is registered may have changed since the request came: it is answered by what is so now. */
  async function approve(
    destination: Destination,
    interaction: Interaction,
    { facts }: Position,
    call: BrowserCall,
  ): Promise<FastifyReply> {
    const outcome = outcomeOf(destination)
    let request: ApprovalRequest
    try {
      request = await approvals.review(interaction.request)
    } catch (error) {
      return deny(destination, interaction.request, error, call)
    }
    await outcome.check?.(request)
    const granted = { ...grantedBy({ ...interaction, request }, doors.all('parameter')), ...facts }
    return outcome.approved({ request, state: destination.state }, granted, call)
  }

  async function deny(
    destination: Destination,
    request: ApprovalRequest,
    error: unknown,
    call: BrowserCall,
  ): Promise<FastifyReply> {
    if (!isEnd(error)) throw error
    const outcome = outcomeOf(destination)
    await outcome.check?.(request)
    return outcome.denied({ request, state: destination.state }, error, call)
  }

  /** Ends an interaction, once; it stays open when its answer fails, and can be tried again. */
  async function end(
    stored: Stored,
    { session }: Interaction,
    answer: () => Promise<FastifyReply>,
  ): Promise<FastifyReply> {
    const ended = await store.complete(stored, session)
    try {
      return await answer()
    } catch (error) {
      await store.reopen(ended).catch(() => undefined)
      throw error
    }
  }

  function show(
    stored: Stored,
    { request, session }: Interaction,
    pending: Pending,
    call: BrowserCall,
  ): FastifyReply {
    const { step, page } = pending
    const model = {
      action: store.addressOf(stored, step.name),
      csrfToken: browser.csrfToken(call, purposeOf(stored.id, session)),
      client: clientView(request),
      ...page.model,
    }
    return call.reply.page(page.page as keyof Pages, model as never, { status: page.status ?? 200 })
  }

  async function proceed(stored: Stored, interaction: Interaction, call: BrowserCall): Promise<FastifyReply> {
    const { asked } = stored
    let position: Position
    try {
      position = await findPosition(interaction)
    } catch (error) {
      if (!isEnd(error)) throw error
      return end(stored, interaction, () => deny(asked, interaction.request, error, call))
    }
    const { pending } = position
    if (pending === undefined)
      return end(stored, interaction, () => approve(asked, interaction, position, call))
    if (call.request.method === 'POST') return call.reply.redirect(store.addressOf(stored), 303)
    return show(stored, interaction, pending, call)
  }

  async function load(
    { id, sealed }: Address,
    call: BrowserCall,
  ): Promise<{ stored: Stored; interaction: Interaction }> {
    const stored = await store.get(id, sealed, browser.id(call))
    const [request, session] = [await store.revive(stored.asked), await browser.session(call.request)]
    await outcomeOf(stored.asked).check?.(request)
    return { stored, interaction: { request, session, notes: stored.notes } }
  }

  async function begin(
    request: ApprovalRequest,
    outcome: string,
    state: Bag,
    call: BrowserCall,
  ): Promise<FastifyReply> {
    let stored: Stored
    try {
      stored = store.begin(request, outcome, state, browser.id(call))
    } catch (error) {
      // The client is the one who can ask for less.
      return deny({ outcome, state }, request, error, call)
    }
    return call.reply.redirect(store.addressOf(stored), 303)
  }

  return {
    showOver: createOverPage(fastify, store),

    async start(request, outcome, state, call) {
      const interaction = { request, session: await browser.session(call.request), notes: {} }
      let position: Position
      try {
        position = await findPosition(interaction)
        const { pending } = position
        if (pending !== undefined && isSilent(request))
          throw new OAuthError(
            pending.step.required,
            `prompt is none, but the ${pending.step.name} page is needed`,
          )
      } catch (error) {
        return deny({ outcome, state }, request, error, call)
      }
      if (position.pending === undefined) return approve({ outcome, state }, interaction, position, call)
      return begin(request, outcome, state, call)
    },

    async resume(address, call) {
      const { stored, interaction } = await load(address, call)
      return proceed(stored, interaction, call)
    },

    async submit(address, name, wire, call) {
      const { stored, interaction } = await load(address, call)
      const pending = await findPosition(interaction).then(
        (position) => position.pending,
        () => undefined,
      )
      if (isTypedAgain(wire)) {
        browser.assertFromHere(call)
        const isPending = pending?.step.name === name && pending.step.again !== undefined
        if (!isPending) return call.reply.redirect(store.addressOf(stored), 303)
        const page = await pending.step.again!(interaction, wire)
        return show(stored, interaction, { step: pending.step, page }, call)
      }
      const isPast = pending?.step.name !== name
      await assertForm({ stored, session: interaction.session, step: name, isPast }, wire, call)
      // A form from before: what is asked now is on the page as it stands.
      if (isPast) return proceed(stored, interaction, call)
      let result: Awaited<ReturnType<InteractionStep['submit']>>
      try {
        result = await pending.step.submit(interaction, wire, call)
      } catch (error) {
        if (!isEnd(error)) throw error
        return end(stored, interaction, () => deny(stored.asked, interaction.request, error, call))
      }
      if ('page' in result) return show(stored, interaction, { step: pending.step, page: result }, call)
      const session = result.session ?? interaction.session
      const noted = await store.note(stored, pending.step, result.note, session)
      return proceed(noted, { ...interaction, session, notes: noted.notes }, call)
    },
  }
}

/** What a step says ends an interaction. A failure of ours does not, nor does a request to wait. */
function isEnd(error: unknown): error is OAuthError {
  return error instanceof OAuthError && error.status !== 429 && error.status < 500
}

function isSilent({ parameters }: ApprovalRequest): boolean {
  return ((parameters['prompt'] as readonly string[] | undefined) ?? []).includes('none')
}
