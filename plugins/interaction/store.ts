/** Interactions under way: kept by their id, for one browser, and ended once. */
import type { FastifyInstance } from 'fastify'
import type { ApprovalRequest, Bag } from '../../src/doors.ts'
import { OAuthError } from '../../src/protocol/errors.ts'

export interface Stored {
  readonly request: Bag
  readonly outcome: string
  readonly state: Bag
  /** Keyed hash of the browser's id. */
  readonly browser: string
  /** What the steps noted, by their names. */
  readonly notes: Bag
  readonly completed?: true
}

export interface InteractionStore {
  /** Returns the id: 256 random bits. */
  put(request: ApprovalRequest, outcome: string, state: Bag, browserId: string): Promise<string>
  /** Throws `invalid_request` for one that has expired or ended, `access_denied` for another browser's. */
  get(id: string, browserId: string): Promise<Stored>
  /** The request again; throws when its client is gone. */
  revive(stored: Stored): Promise<ApprovalRequest>
  /** Throws when the interaction went on in another tab. */
  note(id: string, stored: Stored, step: string, note: unknown): Promise<Stored>
  /** Ends it; throws when it has ended already. */
  complete(id: string, stored: Stored): Promise<void>
  /** Takes that back. */
  reopen(id: string, stored: Stored): Promise<void>
}

/** Seconds. */
const LIFETIME = 3600
const ID = /^[A-Za-z0-9_-]{43}$/

export function createInteractionStore({
  artifacts,
  box,
  findClient,
}: FastifyInstance['oauth']): InteractionStore {
  const interactions = artifacts('interaction', LIFETIME)

  async function replace(id: string, from: Stored, to: Stored): Promise<void> {
    if (!(await interactions.replace(id, { ...from }, { ...to }))) throw over()
  }

  return {
    put({ client, scopes, ...request }, outcome, state, browserId) {
      return interactions.put({
        request: { ...request, client: client.clientId, scopes: [...scopes] },
        outcome, state, browser: box.hash(browserId), notes: {},
      }) // prettier-ignore
    },
    async get(id, browserId) {
      const stored = ID.test(id) ? ((await interactions.get(id)) as Stored | null) : null
      if (stored === null) throw over()
      if (!box.matches(browserId, stored.browser))
        throw new OAuthError('access_denied', 'this page belongs to another browser; begin again at the app')
      if (stored.completed) throw over()
      return stored
    },
    async revive({ request }) {
      const { client: clientId, scopes, ...more } = request as Bag & { client: string; scopes: string[] }
      const client = await findClient(clientId)
      if (client === null) throw new OAuthError('invalid_client', 'the app is not registered any more')
      return { ...more, client, scopes: new Set(scopes) } as unknown as ApprovalRequest
    },
    async note(id, stored, step, note) {
      const noted = { ...stored, notes: { ...stored.notes, [step]: note } }
      await replace(id, stored, noted)
      return noted
    },
    complete: async (id, stored) => replace(id, stored, { ...stored, completed: true }),
    reopen: async (id, stored) => replace(id, { ...stored, completed: true }, stored),
  }
}

function over(): OAuthError {
  return new OAuthError('invalid_request', 'this page has been used or is too old; begin again at the app')
}
