/** The ends of interactions: what its outcome answers to an approved request, and to a refused one. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ApprovalRequest } from '../../src/doors/approval.ts'
import type { BrowserCall, Interaction } from '../../src/doors/interaction.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { isOurs } from '../../src/services/users/ourselves.ts'
import type { Asked } from './asked.ts'
import { grantedBy, withFacts } from './granted.ts'
import type { Position } from './position.ts'
import type { InteractionStore, Stored } from './store.ts'

/** What an interaction leads to. */
export type Destination = Pick<Asked, 'outcome' | 'state'>

export interface Endings {
  /** Throws where its outcome says that this request must not go on. */
  check(destination: Destination, request: ApprovalRequest): Promise<void>
  approve(
    destination: Destination,
    interaction: Interaction,
    position: Position,
    call: BrowserCall,
  ): Promise<FastifyReply>
  /** Throws what is no end (`isEnd`). */
  deny(
    destination: Destination,
    request: ApprovalRequest,
    error: unknown,
    call: BrowserCall,
  ): Promise<FastifyReply>
  /** Ends an interaction, once; it stays open when its answer fails, and can be tried again. */
  end(stored: Stored, interaction: Interaction, answer: () => Promise<FastifyReply>): Promise<FastifyReply>
}

/** What a step says ends an interaction. A failure of ours does not, nor does a request to wait. */
export function isEnd(error: unknown): error is OAuthError {
  return error instanceof OAuthError && error.status !== 429 && error.status < 500
}

export function createEndings(fastify: FastifyInstance, store: InteractionStore): Endings {
  const { oauth } = fastify
  const { doors, approvals } = kernelOf(fastify)

  function outcomeOf({ outcome: name }: Destination) {
    const outcome = oauth.owners('outcome').get(name)
    if (outcome === undefined) throw new Error(`there is no outcome ${name}`)
    return outcome
  }

  const deny: Endings['deny'] = async (destination, request, error, call) => {
    if (!isEnd(error)) throw error
    const outcome = outcomeOf(destination)
    await outcome.check?.(request, destination.state)
    return outcome.denied({ request, state: destination.state }, error, call)
  }

  return {
    check: async (destination, request) => outcomeOf(destination).check?.(request, destination.state),

    // What is registered may have changed since the request came: it is answered by what is so now.
    async approve(destination, interaction, { facts, declined }, call) {
      const outcome = outcomeOf(destination)
      let request: ApprovalRequest
      try {
        request = isOurs(interaction.request)
          ? interaction.request
          : await approvals.bind(
              await approvals.narrow(await approvals.review(interaction.request), declined),
            )
      } catch (error) {
        return deny(destination, interaction.request, error, call)
      }
      await outcome.check?.(request, destination.state)
      const { session } = interaction
      const found = grantedBy({ request, session }, doors.all('parameter'))
      // OpenID Connect Core §11: who leaves it out allows nothing while they are away.
      const granted = withFacts(
        declined.has('offline_access') ? { ...found, refreshable: false } : found,
        facts,
      )
      return outcome.approved({ request, state: destination.state }, granted, call)
    },

    deny,

    async end(stored, { request, session }, answer) {
      // Nothing is given out that must not be twice.
      if (isOurs(request)) return answer()
      const ended = await store.complete(stored, session)
      try {
        return await answer()
      } catch (error) {
        await store.reopen(ended).catch(() => undefined)
        throw error
      }
    },
  }
}
