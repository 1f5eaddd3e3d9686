/** Takes interactions through the registered steps, in the order of their registration, to one end each. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ApprovalRequest, Bag } from '../../src/doors.ts'
import type {
  BrowserCall,
  Interaction,
  InteractionStep,
  StepFacts,
  StepPage,
} from '../../src/interaction-doors.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import type { Pages } from '../pages/models.ts'
import { clientView } from './client-view.ts'
import { grantedBy } from './granted.ts'
import { createInteractionStore, type Stored } from './store.ts'

export interface Engine {
  start(request: ApprovalRequest, outcome: string, state: Bag, call: BrowserCall): Promise<FastifyReply>
  /** Answers with what is next. */
  resume(id: string, call: BrowserCall): Promise<FastifyReply>
  /** Gives the step what its form sent, then answers with what is next. */
  submit(id: string, step: string, wire: Wire, call: BrowserCall): Promise<FastifyReply>
}

interface Pending {
  step: InteractionStep
  page: StepPage
}

interface Progress {
  /** The first step that is not done; undefined when all are. */
  pending?: Pending
  /** What those that are done add to what will be granted. */
  facts: StepFacts['granted']
}

type End = Pick<Stored, 'outcome' | 'state'>

export function createEngine({ oauth, browser }: FastifyInstance): Engine {
  const store = createInteractionStore(oauth)
  const addressOf = (id: string): string => `${oauth.config.basePath}/interaction/${id}`

  /** Throws what a step ends the interaction with. */
  async function findProgress(interaction: Interaction): Promise<Progress> {
    let facts: Progress['facts'] = {}
    for (const step of oauth.all('interactionStep')) {
      const found = await step.run(interaction)
      if (found === 'done') continue
      if ('page' in found) return { pending: { step, page: found }, facts }
      facts = { ...facts, ...found.granted }
    }
    return { facts }
  }

  function outcomeOf({ outcome: name }: End) {
    const outcome = oauth.owners('outcome').get(name)
    if (outcome === undefined) throw new Error(`there is no outcome ${name}`)
    return outcome
  }

  async function approve(
    end: End,
    interaction: Interaction,
    { facts }: Progress,
    call: BrowserCall,
  ): Promise<FastifyReply> {
    const granted = { ...grantedBy(interaction, oauth.all('parameter')), ...facts }
    const ended = { request: interaction.request, state: end.state }
    return outcomeOf(end).approved(ended, granted, call)
  }

  async function deny(
    end: End,
    request: ApprovalRequest,
    error: unknown,
    call: BrowserCall,
  ): Promise<FastifyReply> {
    if (!isEnd(error)) throw error
    return outcomeOf(end).denied({ request, state: end.state }, error, call)
  }

  /** Ends a stored interaction, once; it stays open when its answer fails, and can be tried again. */
  async function end(id: string, stored: Stored, answer: () => Promise<FastifyReply>): Promise<FastifyReply> {
    await store.complete(id, stored)
    try {
      return await answer()
    } catch (error) {
      await store.reopen(id, stored).catch(() => undefined)
      throw error
    }
  }

  function show(
    id: string,
    { request, session }: Interaction,
    pending: Pending,
    call: BrowserCall,
  ): FastifyReply {
    const { step, page } = pending
    const model = {
      action: `${addressOf(id)}/${step.name}`,
      csrfToken: browser.csrfToken(call, purposeOf(id, session)),
      client: clientView(request),
      ...page.model,
    }
    return call.reply.page(page.page as keyof Pages, model as never, { status: page.status ?? 200 })
  }

  async function proceed(
    id: string,
    stored: Stored,
    interaction: Interaction,
    call: BrowserCall,
  ): Promise<FastifyReply> {
    let progress: Progress
    try {
      progress = await findProgress(interaction)
    } catch (error) {
      if (!isEnd(error)) throw error
      return end(id, stored, () => deny(stored, interaction.request, error, call))
    }
    const { pending } = progress
    if (pending === undefined) return end(id, stored, () => approve(stored, interaction, progress, call))
    if (call.request.method === 'POST') return call.reply.redirect(addressOf(id), 303)
    return show(id, interaction, pending, call)
  }

  async function load(id: string, call: BrowserCall): Promise<{ stored: Stored; interaction: Interaction }> {
    const stored = await store.get(id, browser.id(call))
    const [request, session] = [await store.revive(stored), await browser.session(call.request)]
    return { stored, interaction: { request, session, notes: stored.notes } }
  }

  return {
    async start(request, outcome, state, call) {
      const interaction = { request, session: await browser.session(call.request), notes: {} }
      let progress: Progress
      try {
        progress = await findProgress(interaction)
        const { pending } = progress
        if (pending !== undefined && isSilent(request))
          throw new OAuthError(
            pending.step.required,
            `prompt is none, but the ${pending.step.name} page is needed`,
          )
      } catch (error) {
        return deny({ outcome, state }, request, error, call)
      }
      if (progress.pending === undefined) return approve({ outcome, state }, interaction, progress, call)
      const id = await store.put(request, outcome, state, browser.id(call))
      return call.reply.redirect(addressOf(id), 303)
    },

    async resume(id, call) {
      const { stored, interaction } = await load(id, call)
      return proceed(id, stored, interaction, call)
    },

    async submit(id, name, wire, call) {
      const { stored, interaction } = await load(id, call)
      browser.assertGenuine(call, wire, purposeOf(id, interaction.session))
      const pending = await findProgress(interaction).then(
        (progress) => progress.pending,
        () => undefined,
      )
      // A form from before: what is asked now is on the page as it stands.
      if (pending?.step.name !== name) return proceed(id, stored, interaction, call)
      let result: Awaited<ReturnType<InteractionStep['submit']>>
      try {
        result = await pending.step.submit(interaction, wire, call)
      } catch (error) {
        if (!isEnd(error)) throw error
        return end(id, stored, () => deny(stored, interaction.request, error, call))
      }
      if ('page' in result) return show(id, interaction, { step: pending.step, page: result }, call)
      const noted = await store.note(id, stored, name, result.note)
      const session = result.session ?? interaction.session
      return proceed(id, noted, { ...interaction, session, notes: noted.notes }, call)
    },
  }
}

/** What a step says ends an interaction. A failure of ours does not, nor does a request to wait. */
function isEnd(error: unknown): error is OAuthError {
  return error instanceof OAuthError && error.status !== 429 && error.status < 500
}

/** A form belongs to its interaction, and to who was signed in when it was shown. */
function purposeOf(id: string, session: Interaction['session']): string {
  return `${id} ${session?.sid ?? ''}`
}

function isSilent({ parameters }: ApprovalRequest): boolean {
  return ((parameters['prompt'] as readonly string[] | undefined) ?? []).includes('none')
}
