/** Forms that browsers send to the steps: once, twice, late, or after they had expired. */
import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { BrowserCall, InteractionStep, RefusalPage, StepPage } from '../../src/doors/interaction.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import { ExpiredForm, isTypedAgain } from '../pages/expired-form.ts'
import { isEnd, type Endings } from './endings.ts'
import { createFormCheck } from './form-check.ts'
import type { Phases } from './phases.ts'
import type { FindPosition, Pending } from './position.ts'
import type { InteractionStore } from './store.ts'
import { createUnderWay } from './under-way.ts'
import type { Address, Loaded, Submitted, Walk } from './walk.ts'
import { NOT_YOU } from './ways-out.ts'

/** Gives the step what its form (`step`, or `step.part`) sent, then answers with what is next. */
export type Submit = (address: Address, form: string, wire: Wire, call: BrowserCall) => Promise<FastifyReply>

export interface SubmissionOptions {
  store: InteractionStore
  phases: () => Phases
  findPosition: FindPosition
  endings: Endings
  walk: Walk
}

interface Judged {
  readonly loaded: Loaded
  readonly pending: Pending | undefined
  /** Whether it is of a step that stood on the page of the one that is asked. */
  readonly instead: boolean
  /** Whose form it is; undefined for one of before, which changes nothing. */
  readonly step: InteractionStep | undefined
}

export function createSubmit({ browser, oauth }: FastifyInstance, options: SubmissionOptions): Submit {
  const { store, phases, findPosition, endings, walk } = options
  const assertForm = createFormCheck(browser, store)
  const underWay = createUnderWay()

  /** What the step has to show; undefined when it is done, and answered with what is next. */
  async function take(
    loaded: Loaded,
    step: InteractionStep,
    wire: Wire,
    part: string | undefined,
    call: BrowserCall,
  ): Promise<RefusalPage | undefined> {
    const { stored, interaction } = loaded
    let result: Submitted
    try {
      result = await step.submit(interaction, wire, call, part)
    } catch (error) {
      if (!isEnd(error)) throw error
      await endings.end(stored, interaction, () =>
        endings.deny(stored.asked, interaction.request, error, call),
      )
      return undefined
    }
    if ('page' in result) return result
    if ('elsewhere' in result) await call.reply.redirect(result.elsewhere, 303)
    else await walk.goOn(loaded, step, wire, result, call)
    return undefined
  }

  /** Whether the form is of another step than the one that is asked, and stood on its page. */
  async function isInstead(
    sent: InteractionStep | undefined,
    pending: Pending | undefined,
    { interaction }: Loaded,
  ): Promise<boolean> {
    if (sent === undefined || pending === undefined) return false
    return phases().beside(pending.step.name).includes(sent) && (await sent.instead!(interaction)) !== null
  }

  /**
   * Where the step `name` that refuses a form was done by the same one, as of a double click, and `asked` is not asked any more: a code is
   * good once.
   */
  async function doneMeanwhile(
    address: Address,
    { stored }: Loaded,
    [name, asked]: readonly [string, string],
    wire: Wire,
    call: BrowserCall,
  ): Promise<Loaded | undefined> {
    await underWay.settled(address.id)
    const loaded = await walk.load(address, call, wire)
    const { pending } = await findPosition(loaded.interaction, call)
    // A step of several pages is asked on, and has noted the first.
    const hasNoted = !isDeepStrictEqual(loaded.stored.notes[name], stored.notes[name])
    return pending?.step.name === asked && !hasNoted ? undefined : loaded
  }

  /** The page of a form that had expired, with what was typed into it. */
  async function showAgain(
    { stored, interaction }: Loaded,
    pending: Pending | undefined,
    [name, part]: readonly [string, string?],
    wire: Wire,
    call: BrowserCall,
  ): Promise<FastifyReply> {
    browser.assertFromHere(call)
    if (pending?.step.name !== name || pending.step.again === undefined)
      return call.reply.redirect(store.addressOf(stored), 303)
    const page = await pending.step.again(interaction, wire, call, part)
    return walk.show(interaction, { step: pending.step, page }, call)
  }

  /** What a form that was sent is for, as its interaction stands; throws `ExpiredForm` for one that was shown to somebody else. */
  async function judge(address: Address, form: string, wire: Wire, call: BrowserCall): Promise<Judged> {
    const loaded = await walk.load(address, call, wire)
    const { stored, interaction } = loaded
    const [name, part] = phases().partsOf(form)
    const position = await findPosition(interaction, call).catch(() => undefined)
    const pending = position?.pending
    if (isTypedAgain(wire)) return { loaded, pending, instead: false, step: undefined }
    const sent = phases().find(name)
    const instead = await isInstead(sent, pending, loaded)
    const isPast = pending?.step.name !== name && !instead
    const isRepeated = isPast && ((await sent?.repeats?.(interaction, wire)) ?? true)
    await assertForm({ stored, session: interaction.session, step: name, form, isRepeated }, wire, call)
    // A form from before: what is asked now is on the page as it stands.
    const isAllowed = position !== undefined && (pending === undefined || phases().isLate(pending.step))
    const changing = isPast && isAllowed && ((await sent?.changes?.(interaction, wire, part)) ?? false)
    const step = changing || instead ? sent : isPast ? undefined : pending?.step
    return { loaded, pending, instead, step }
  }

  async function judgeTwice(address: Address, form: string, wire: Wire, call: BrowserCall): Promise<Judged> {
    try {
      return await judge(address, form, wire, call)
    } catch (error) {
      if (!(error instanceof ExpiredForm)) throw error
      // The same form, as of a double click, may have opened its session by now, and not noted that yet.
      await underWay.settled(address.id)
      return judge(address, form, wire, call)
    }
  }

  /**
   * The address at which a second "not you" goes on: the first has left nobody there. Null where a session is there, so that the form has
   * expired otherwise. It changes nothing.
   */
  async function leftBefore(
    error: unknown,
    address: Address,
    wire: Wire,
    call: BrowserCall,
  ): Promise<string | null> {
    if (!(error instanceof ExpiredForm)) return null
    browser.assertFromHere(call)
    const { stored, interaction } = await walk.load(address, call, wire)
    return interaction.session === null ? store.addressOf(stored) : null
  }

  return async (address, form, wire, call) => {
    const parts = phases().partsOf(form)
    const [name, part] = parts
    let judged: Judged
    try {
      judged = await judgeTwice(address, form, wire, call)
    } catch (error) {
      const to = part === NOT_YOU ? await leftBefore(error, address, wire, call) : null
      if (to === null) throw error
      return call.reply.redirect(to, 303)
    }
    const { loaded, pending, instead, step } = judged
    if (isTypedAgain(wire)) return showAgain(loaded, pending, parts, wire, call)
    if (step === undefined) return walk.proceed(loaded, call)
    const page = await underWay.take(address.id, () => take(loaded, step, wire, part, call))
    if (page === undefined) return call.reply
    const asked = instead ? pending!.step.name : name
    const done = isRefusal(page) ? await doneMeanwhile(address, loaded, [name, asked], wire, call) : undefined
    // Who signed out beside it was led on by nothing.
    const isLedOn = done !== undefined && isSamePerson(done, loaded)
    if (page.event !== undefined && !isLedOn) oauth.audit.observe(page.event)
    return done === undefined ? walk.show(loaded.interaction, { step, page }, call) : walk.proceed(done, call)
  }
}

function isSamePerson(
  { interaction: { session: one } }: Loaded,
  { interaction: { session: other } }: Loaded,
): boolean {
  return one !== null && one.userId === other?.userId
}

function isRefusal({ status = 200 }: StepPage): boolean {
  return status >= 400 && status !== 429
}
