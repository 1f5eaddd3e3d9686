/**
 * Interactions under way, each for one browser and ended once. What one is about travels with the browser; what came of
 * it so far is a row from the moment somebody is signed in, and of those each session has only so many.
 */
import { randomBytes } from 'node:crypto'
import type { ApprovalRequest } from '../../src/doors/approval.ts'
import type { InteractionStep, Session } from '../../src/doors/interaction.ts'
import { approvalFromJson, approvalToJson } from '../../src/doors/stored-facts.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import type { Kernel } from '../../src/services/kernel.ts'
import { OURSELVES } from '../../src/services/users/ourselves.ts'
import { type Asked, open, REQUEST, seal } from './asked.ts'
import { InteractionOver, WentOn } from './over.ts'

export interface Stored {
  readonly id: string
  readonly asked: Asked
  /** As it travels. */
  readonly sealed: string
  /** What the steps noted, by their names. */
  readonly notes: Bag
  /** The row; null as long as there is none. */
  readonly progress: Progress | null
}

interface Progress {
  readonly notes: Bag
  readonly completed?: true
}

type Noting = Pick<InteractionStep, 'name' | 'merge'>

export interface InteractionStore {
  /** Throws `invalid_request` for a request that is too long. */
  begin(request: ApprovalRequest, outcome: string, state: Bag, browserId: string): Stored
  /** Throws `InteractionOver` for one that has expired or ended, and for another browser's. */
  get(id: string, sealed: string, browserId: string): Promise<Stored>
  /** Where its pages are, below the issuer. */
  addressOf(stored: Stored, step?: string): string
  /** The request again; throws when its client is gone. */
  revive(asked: Asked): Promise<ApprovalRequest>
  /** Throws `WentOn` when it went on meanwhile, unless the step makes one note of two. */
  note(stored: Stored, step: Noting, note: unknown, session: Session | null): Promise<Stored>
  /** Ends it; throws `WentOn` when it went on, or ended, meanwhile. With nobody signed in it can be gone through again, as its request can. */
  complete(stored: Stored, session: Session | null): Promise<Stored>
  /** Takes that back. */
  reopen(stored: Stored): Promise<void>
}

/** Seconds. */
const LIFETIME = 3600
const ID = /^[A-Za-z0-9_-]{43}$/
/** Rows of one session. Whose row gave way is asked again, or may end twice: each is as if the app had asked again. */
const MOST = 32

/** @internal */
export function createInteractionStore({ artifacts, box, config, directory }: Kernel): InteractionStore {
  const rows = artifacts<Progress>('interaction-progress', { lifetime: LIFETIME })

  function addressOf({ id, sealed }: Stored, step?: string): string {
    const path = `${config.basePath}/interaction/${id}${step === undefined ? '' : `/${step}`}`
    return `${path}?${new URLSearchParams({ [REQUEST]: sealed }).toString()}`
  }

  async function write(stored: Stored, next: Progress, session: Session): Promise<Stored> {
    const { id, progress } = stored
    const written =
      progress === null
        ? await rows.put(next, { handle: id, owner: session.sid, most: MOST })
        : await rows.replace(id, progress, next)
    if (written === false) throw new WentOn(addressOf(stored))
    return { ...stored, notes: next.notes, progress: next }
  }

  const note: InteractionStore['note'] = async (stored, step, noted, session) => {
    const before = stored.notes[step.name]
    const both = before === undefined ? noted : (step.merge?.(before, noted) ?? noted)
    const notes = { ...stored.notes, [step.name]: both }
    if (session === null) {
      const asked = { ...stored.asked, notes }
      return { ...stored, asked, notes, sealed: seal(box, stored.id, asked) }
    }
    try {
      return await write(stored, { notes }, session)
    } catch (error) {
      if (!(error instanceof WentOn) || step.merge === undefined) throw error
      return note(await reload(stored), step, noted, session)
    }
  }

  async function reload({ id, asked, sealed }: Pick<Stored, 'id' | 'asked' | 'sealed'>): Promise<Stored> {
    const progress = await rows.get(id)
    if (progress?.completed) throw new InteractionOver('done', asked)
    return { id, asked, sealed, notes: progress?.notes ?? asked.notes, progress }
  }

  return {
    begin(request, outcome, state, browserId) {
      const id = randomBytes(32).toString('base64url')
      const asked: Asked = {
        request: approvalToJson(request),
        outcome,
        state,
        browser: box.hash(browserId),
        notes: {},
        until: Date.now() + LIFETIME * 1000,
      }
      return { id, asked, sealed: seal(box, id, asked), notes: {}, progress: null }
    },
    async get(id, sealed, browserId) {
      const asked = ID.test(id) ? open(box, id, sealed) : null
      if (asked === null) throw new InteractionOver('unknown')
      if (!box.matches(browserId, asked.browser)) throw new InteractionOver('elsewhere', asked)
      if (asked.until <= Date.now()) throw new InteractionOver('too old', asked)
      return reload({ id, asked, sealed })
    },
    addressOf,
    async revive({ request }) {
      const client = request.client === '' ? OURSELVES : await directory.findClient(request.client)
      if (client === null)
        throw new OAuthError('invalid_client', 'the app is not registered any more', { status: 400 })
      return approvalFromJson(request, client)
    },
    note,
    complete: async (stored, session) =>
      session === null ? stored : write(stored, { notes: stored.notes, completed: true }, session),
    async reopen({ id, progress }) {
      if (progress !== null) await rows.replace(id, progress, { notes: progress.notes })
    },
  }
}
