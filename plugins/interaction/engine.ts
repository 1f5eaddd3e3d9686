/** Takes interactions through the registered steps, phase by phase in the order of their registration, to one end each. */
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
import type { Proof } from '../../src/doors/sign-in.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import { isTypedAgain } from '../pages/expired-form.ts'
import { isOurs } from '../../src/services/users/ourselves.ts'
import { STEPS } from '../browser.ts'
import type { Pages } from '../pages/models.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { clientView } from '../pages/client-view.ts'
import type { Asked } from './asked.ts'
import { createFormCheck } from './form-check.ts'
import { grantedBy, withFacts } from './granted.ts'
import { WentOn } from './over.ts'
import { createOverPage, type ShowOver } from './over-page.ts'
import { createPhases, LOGIN } from './phases.ts'
import { noteOf } from './sign-in-note.ts'
import { createInteractionStore, type Stored } from './store.ts'
import { createUnderWay } from './under-way.ts'
import { createVisitors, isSilent } from './visitors.ts'

export interface Engine {
  start(request: ApprovalRequest, outcome: string, state: Bag, call: BrowserCall): Promise<FastifyReply>
  /** The same at an address of its own: what is next is shown in the place of a redirect to it. */
  startHere(request: ApprovalRequest, outcome: string, state: Bag, call: BrowserCall): Promise<FastifyReply>
  /** What somebody has shown to a plugin's own page, for the step that asks who it is; then what is next. */
  prove(address: Address, proof: Proof, call: BrowserCall): Promise<FastifyReply>
  /** Whether it is one of this browser's that goes on. */
  goesOn(address: Address, call: BrowserCall): Promise<boolean>
  /** Answers with what is next. */
  resume(address: Address, call: BrowserCall): Promise<FastifyReply>
  /** Gives the step what its form (`step`, or `step.part`) sent, then answers with what is next. */
  submit(address: Address, form: string, wire: Wire, call: BrowserCall): Promise<FastifyReply>
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

interface Loaded {
  stored: Stored
  interaction: Interaction
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
  const visitors = createVisitors(fastify, store)
  const phases = createPhases(doors)
  const underWay = createUnderWay()

  /** Throws what a step ends the interaction with. */
  async function findPosition(interaction: Interaction, call: BrowserCall): Promise<Position> {
    const { request, session, missing } = interaction
    const { authenticate, approve: later } = phases()
    let facts: Position['facts'] = {}
    for (const steps of isOurs(request) ? [authenticate] : [authenticate, later]) {
      for (const step of steps) {
        const found = await step.run(interaction, call)
        if (found === 'done') continue
        if ('page' in found) return { pending: { step, page: found }, facts }
        facts = withFacts(facts, found.granted)
      }
      // No step had more to ask for.
      if (session !== null && missing.length > 0) throw unmet()
    }
    if (session === null) throw new OAuthError('login_required', 'nobody can be asked here who is there')
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
      request = isOurs(interaction.request)
        ? interaction.request
        : await approvals.review(interaction.request)
    } catch (error) {
      return deny(destination, interaction.request, error, call)
    }
    await outcome.check?.(request)
    const { session } = interaction
    const granted = withFacts(grantedBy({ request, session }, doors.all('parameter')), facts)
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
    { request, session }: Interaction,
    answer: () => Promise<FastifyReply>,
  ): Promise<FastifyReply> {
    // Nothing is given out that must not be twice.
    if (isOurs(request)) return answer()
    const ended = await store.complete(stored, session)
    try {
      return await answer()
    } catch (error) {
      await store.reopen(ended).catch(() => undefined)
      throw error
    }
  }

  function show({ request, formFor }: Interaction, { step, page }: Pending, call: BrowserCall): FastifyReply {
    const model = { ...formFor(step.name), client: clientView(request), ...page.model }
    return call.reply.page(page.page as keyof Pages, model as never, { status: page.status ?? 200 })
  }

  async function proceed(stored: Stored, interaction: Interaction, call: BrowserCall): Promise<FastifyReply> {
    const { asked } = stored
    let position: Position
    try {
      position = await findPosition(interaction, call)
    } catch (error) {
      if (!isEnd(error)) throw error
      return end(stored, interaction, () => deny(asked, interaction.request, error, call))
    }
    const { pending } = position
    if (pending === undefined)
      return end(stored, interaction, () => approve(asked, interaction, position, call))
    if (call.request.method === 'POST') return call.reply.redirect(store.addressOf(stored), 303)
    return show(interaction, pending, call)
  }

  async function load({ id, sealed }: Address, call: BrowserCall): Promise<Loaded> {
    const stored = await store.get(id, sealed, browser.id(call))
    const request = await store.revive(stored.asked)
    await outcomeOf(stored.asked).check?.(request)
    return { stored, interaction: await visitors.underWay(stored, request, call) }
  }

  /** Stored, with what the step found out: the session may be another one from here on. */
  async function goOn(
    stored: Stored,
    { request, session: before }: Interaction,
    step: InteractionStep,
    wire: Wire,
    result: Exclude<Awaited<ReturnType<InteractionStep['submit']>>, StepPage>,
    call: BrowserCall,
  ): Promise<FastifyReply> {
    let session = result.session ?? before
    if (result.shown !== undefined && session !== null)
      session = await browser[STEPS].raise(call, session, result.shown, request, wire)
    // It has ended meanwhile, as by a form that was sent twice.
    if (result.shown !== undefined && session === null) throw new WentOn(store.addressOf(stored))
    const noted = await store.note(stored, step, result.note, session)
    return proceed(noted, await visitors.of(noted, request, session, call), call)
  }

  /** What the step has to show; undefined when it is done, and answered with what is next. */
  async function take(
    { stored, interaction, step }: Loaded & { step: InteractionStep },
    wire: Wire,
    part: string | undefined,
    call: BrowserCall,
  ): Promise<StepPage | undefined> {
    let result: Awaited<ReturnType<InteractionStep['submit']>>
    try {
      result = await step.submit(interaction, wire, call, part)
    } catch (error) {
      if (!isEnd(error)) throw error
      await end(stored, interaction, () => deny(stored.asked, interaction.request, error, call))
      return undefined
    }
    if ('page' in result) return result
    await goOn(stored, interaction, step, wire, result, call)
    return undefined
  }

  /** Where the step that refuses a form was done by the same one, as of a double click: a code is good once. */
  async function doneMeanwhile(
    address: Address,
    name: string,
    wire: Wire,
    call: BrowserCall,
  ): Promise<Loaded | undefined> {
    await underWay.settled(address.id)
    await browser[STEPS].adopt(call, wire)
    const loaded = await load(address, call)
    const { pending } = await findPosition(loaded.interaction, call)
    return pending?.step.name === name ? undefined : loaded
  }

  return {
    showOver: createOverPage(fastify, store),

    async start(request, outcome, state, call) {
      const begin = once(() => store.begin(request, outcome, state, browser.id(call)))
      const interaction = await visitors.atFirst(begin, request, call)
      let position: Position
      try {
        position = await findPosition(interaction, call)
        const { pending } = position
        if (pending !== undefined && isSilent(request))
          throw new OAuthError(
            pending.step.required,
            `prompt is none, but the ${pending.step.name} page is needed`,
          )
        // Too long is for the client to hear, who can ask for less.
        if (pending !== undefined) return call.reply.redirect(store.addressOf(begin()), 303)
      } catch (error) {
        return deny({ outcome, state }, request, error, call)
      }
      return approve({ outcome, state }, interaction, position, call)
    },

    async startHere(request, outcome, state, call) {
      const stored = store.begin(request, outcome, state, browser.id(call))
      return proceed(stored, await visitors.underWay(stored, request, call), call)
    },

    async resume(address, call) {
      const { stored, interaction } = await load(address, call)
      return proceed(stored, interaction, call)
    },

    async goesOn(address, call) {
      try {
        await load(address, call)
        return true
      } catch (error) {
        if (error instanceof OAuthError && error.status < 500) return false
        throw error
      }
    },

    async prove(address, proof, call) {
      const { stored, interaction } = await load(address, call)
      const { pending } = await findPosition(interaction, call)
      const session =
        pending?.step.name === LOGIN ? await browser.signIn(call, proof, interaction.request) : null
      if (session === null || pending === undefined) return call.reply.redirect(store.addressOf(stored), 303)
      return goOn(stored, interaction, pending.step, {}, { note: noteOf(session), session }, call)
    },

    async submit(address, form, wire, call) {
      await browser[STEPS].adopt(call, wire)
      const { stored, interaction } = await load(address, call)
      const [name, part] = phases().partsOf(form)
      const pending = await findPosition(interaction, call).then(
        (position) => position.pending,
        () => undefined,
      )
      if (isTypedAgain(wire)) {
        browser.assertFromHere(call)
        const isPending = pending?.step.name === name && pending.step.again !== undefined
        if (!isPending) return call.reply.redirect(store.addressOf(stored), 303)
        const page = await pending.step.again!(interaction, wire, call, part)
        return show(interaction, { step: pending.step, page }, call)
      }
      const isPast = pending?.step.name !== name
      const sent = phases().find(name)
      const isRepeated = isPast && ((await sent?.repeats?.(interaction, wire)) ?? true)
      await assertForm({ stored, session: interaction.session, step: name, form, isRepeated }, wire, call)
      // A form from before: what is asked now is on the page as it stands.
      if (isPast) return proceed(stored, interaction, call)
      const { step } = pending
      const page = await underWay.take(address.id, () =>
        take({ stored, interaction, step }, wire, part, call),
      )
      if (page === undefined) return call.reply
      const done = isRefusal(page) ? await doneMeanwhile(address, name, wire, call) : undefined
      return done === undefined
        ? show(interaction, { step, page }, call)
        : proceed(done.stored, done.interaction, call)
    },
  }
}

function unmet(): OAuthError {
  return new OAuthError('unmet_authentication_requirements', 'no sign-in here reaches what is required')
}

/** Made when it is first asked for: most requests of people who are signed in need none. */
function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => (made ??= { value: make() }).value
}

/** Of what was sent; who is to wait has not been judged. */
function isRefusal({ status = 200 }: StepPage): boolean {
  return status >= 400 && status !== 429
}

/** What a step says ends an interaction. A failure of ours does not, nor does a request to wait. */
function isEnd(error: unknown): error is OAuthError {
  return error instanceof OAuthError && error.status !== 429 && error.status < 500
}
