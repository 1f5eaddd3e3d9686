/** Interactions, from the request that begins one to the answer that ends it, whatever pages are between. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ApprovalRequest } from '../../src/doors/approval.ts'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import type { Proof } from '../../src/doors/sign-in.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { shownOnce } from '../browser/shown-once.ts'
import { createEndings } from './endings.ts'
import { createOverPage, type ShowOver } from './over-page.ts'
import { createPhases, LOGIN } from './phases.ts'
import { createFindPosition, type Position } from './position.ts'
import { noteOf } from './sign-in-note.ts'
import { createInteractionStore } from './store.ts'
import { createSubmit, type Submit } from './submission.ts'
import { createVisitors, isSilent } from './visitors.ts'
import { createWalk, type Address } from './walk.ts'

export interface Engine {
  start(request: ApprovalRequest, outcome: string, state: Bag, call: BrowserCall): Promise<FastifyReply>
  /** The same at an address of its own: what is next is shown in the place of a redirect to it. */
  startHere(request: ApprovalRequest, outcome: string, state: Bag, call: BrowserCall): Promise<FastifyReply>
  /** What somebody has shown to a plugin's own page, for the step that asks who it is; then what is next. */
  prove(address: Address, proof: Proof, call: BrowserCall): Promise<FastifyReply>
  /** Keeps what is noted of the step that asks who it is, while it asks; then what is next. */
  note(address: Address, noted: unknown, call: BrowserCall): Promise<FastifyReply>
  /** Whether it is one of this browser's that goes on. */
  goesOn(address: Address, call: BrowserCall): Promise<boolean>
  /** Answers with what is next. */
  resume(address: Address, call: BrowserCall): Promise<FastifyReply>
  readonly submit: Submit
  /** Says that it is over, and leads on. */
  readonly showOver: ShowOver
}

export function createEngine(fastify: FastifyInstance): Engine {
  const { browser } = fastify
  const { doors } = kernelOf(fastify)
  const store = createInteractionStore(kernelOf(fastify))
  const phases = createPhases(doors)
  const visitors = createVisitors(fastify, store, phases)
  const findPosition = createFindPosition(phases)
  const endings = createEndings(fastify, store)
  const walk = createWalk(fastify, { store, visitors, endings, findPosition })

  return {
    showOver: createOverPage(fastify, store),
    submit: createSubmit(fastify, { store, phases, findPosition, endings, walk }),

    async start(request, outcome, state, call) {
      const begin = once(() => store.begin(request, outcome, state, browser.id(call)))
      const interaction = await visitors.atFirst(begin, request, call)
      let position: Position
      try {
        position = await findPosition(interaction, call)
        const open = position.pending ?? position.found
        if (open !== undefined && isSilent(request))
          throw new OAuthError(open.step.required, `prompt is none, but the ${open.step.name} page is needed`)
        // Too long is for the client to hear, who can ask for less.
        if (open !== undefined) return call.reply.redirect(store.addressOf(begin()), 303)
      } catch (error) {
        return endings.deny({ outcome, state }, request, error, call)
      }
      return endings.approve({ outcome, state }, interaction, position, call)
    },

    async startHere(request, outcome, state, call) {
      const stored = store.begin(request, outcome, state, browser.id(call))
      return walk.proceed({ stored, interaction: await visitors.underWay(stored, request, call) }, call)
    },

    async resume(address, call) {
      return walk.proceed(await walk.load(address, call), call)
    },

    async goesOn(address, call) {
      try {
        await walk.load(address, call)
        return true
      } catch (error) {
        if (error instanceof OAuthError && error.status < 500) return false
        throw error
      }
    },

    async note(address, noted, call) {
      const { stored, interaction } = await walk.load(address, call)
      const { pending } = await findPosition(interaction, call)
      const next =
        pending?.step.name === LOGIN
          ? await store.note(stored, pending.step, noted, interaction.session)
          : stored
      return call.reply.redirect(store.addressOf(next), 303)
    },

    async prove(address, proof, call) {
      const loaded = await walk.load(address, call)
      const { stored, interaction } = loaded
      const { pending } = await findPosition(interaction, call)
      const { isOnce, ...shown } = proof
      const signIn = { ...shown, ...(typeof isOnce === 'string' ? shownOnce(isOnce) : {}) }
      const session =
        pending?.step.name === LOGIN ? await browser.signIn(call, signIn, interaction.request) : null
      if (session === null || pending === undefined) return call.reply.redirect(store.addressOf(stored), 303)
      return walk.goOn(loaded, pending.step, {}, { note: noteOf(session), session }, call)
    },
  }
}

/** Made when it is first asked for: most requests of people who are signed in need none. */
function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => (made ??= { value: make() }).value
}
