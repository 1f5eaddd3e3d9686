/**
 * Requests of clients, from the call to the decision. Each lies under a hash of its auth_req_id, by which pages name it: who has the page's
 * address cannot ask for tokens. The auth_req_id itself is stored only for a ping, encrypted.
 */
import type { FastifyInstance } from 'fastify'
import type { ApprovalRequest } from '../../../../src/doors/approval.ts'
import type { Client } from '../../../../src/doors/client.ts'
import { approvalToJson, type StoredApproval } from '../../../../src/doors/stored-facts.ts'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { hashOf } from '../../../../src/protocol/handle.ts'
import { randomText } from '../../../../src/protocol/random.ts'
import { isOfClient } from '../../../../src/services/clients/same-client.ts'
import { createDoneOnce, type SentForm } from '../../../../src/services/done-once.ts'
import { statements } from '../../../../src/store/artifacts.ts'
import { isOpen, type Decided, type Decision } from '../decision.ts'
import { createPolls, FIRST, type Poll } from '../polls.ts'
import { createPlaces, type PlaceOf } from './places.ts'

export interface BackchannelRequest extends Decided {
  /** Its `user` alone may decide. */
  readonly approval: StoredApproval
  /** Names it on pages. */
  readonly id: string
  /** Where the client asked from. */
  readonly address: string
  /** Milliseconds since the epoch. */
  readonly askedAt: number
  /** The place that it takes among those without an answer. */
  readonly place: number
  /** What the client is told once somebody has decided, encrypted; absent for one that polls. */
  readonly ping?: string
}

export interface Asked {
  readonly approval: ApprovalRequest & { readonly user: string }
  readonly address: string
  /** Seconds. */
  readonly lifetime: number
  /** Of a client that is told: what it recognises the server by (CIBA §7.1). */
  readonly notificationToken?: string
}

export interface BackchannelRequests {
  /** Throws 429 where the client has asked this person too often without an answer. */
  create(asked: Asked): Promise<{ authReqId: string; request: BackchannelRequest }>
  /** Without a request where that is not known, or was spent. */
  findByAuthReqId(authReqId: string): Promise<{ id: string; request: BackchannelRequest | null }>
  find(id: string): Promise<BackchannelRequest | null>
  /** Those of a user that wait for them, the latest first. */
  listOpen(userId: string): Promise<BackchannelRequest[]>
  /** False when it was decided before, or is too old; not where the same page decides again as it did a moment ago. */
  decide(id: string, decision: Decision, page: DecidingPage): Promise<boolean>
  /** Whether this page has decided a moment ago, also where the client has spent the request since. */
  hasDecided(page: DecidingPage): Promise<boolean>
  /** Takes it back, as nobody can be asked. */
  withdraw(request: BackchannelRequest): Promise<void>
  /** What the client is told by; null where it is not, has its answer, or is another than it was. */
  pingOf(id: string, client: Client): Promise<Ping | null>
  poll(id: string): Promise<boolean>
}

/** Where somebody decides: the page as it was opened once, and who the request is for. */
export interface DecidingPage {
  readonly entry: string
  readonly user: string
}

/** What a client is told with (CIBA §10.2). */
export interface Ping {
  readonly authReqId: string
  readonly notificationToken: string
}

/** The kind of artifact that a token request spends. */
export const REQUEST = 'ciba'
const POLLS = 'ciba-polls'
/** Seconds: how long a request lives that asks for nothing else, and the longest that it can ask for. */
export const LIFETIME = 600
/** Seconds for which a client is told that its request has expired, and may fetch what was allowed at the last moment. */
const GRACE = 300
/** Of one person, also of several clients, as many as of any artifact (artifact-store.ts): those with the least time left give way. */
const MOST = 100

export function createBackchannelRequests(fastify: FastifyInstance): BackchannelRequests {
  const { artifacts } = fastify.oauth
  const kernel = kernelOf(fastify)
  const { audit, box, database } = kernel
  const requests = artifacts<BackchannelRequest>(REQUEST, {
    lifetime: LIFETIME + GRACE,
    ofUsers: true,
    describe: ({ approval: { client, scopes, bindingMessage }, address, askedAt }) => ({
      client,
      scopes,
      ...(bindingMessage === undefined ? {} : { binding_message: bindingMessage }),
      address,
      asked_at: new Date(askedAt).toISOString(),
    }),
  })
  // Apart from the request, which the client may have spent before the answer comes.
  const decisions = createDoneOnce<{ allowed: boolean }>(kernel, 'ciba-decision')
  const polls = createPolls(artifacts<Poll>(POLLS, { lifetime: LIFETIME + GRACE }))
  const places = createPlaces(fastify)
  const free = async (request: BackchannelRequest): Promise<void> =>
    places.free(placeOf(request), request.place, request.id)

  return {
    async create({ approval, address, lifetime, notificationToken }) {
      const authReqId = randomText(32, 'base64url')
      const [id, askedAt] = [hashOf(authReqId), Date.now()]
      const storedFor = lifetime + GRACE
      const asking: Omit<BackchannelRequest, 'place'> = {
        approval: approvalToJson(approval),
        id,
        address,
        askedAt,
        expiresAt: askedAt + lifetime * 1000,
        ...(notificationToken === undefined ? {} : { ping: sealed({ authReqId, notificationToken }, id) }),
      }
      const hash = box.hash(id)
      const of = placeOf(asking)
      let place: number | undefined
      try {
        // All of it or nothing: a place without its request would be freed by nobody.
        const request = await database.transaction(async (query) => {
          place = await places.take(query, of, id)
          const taking: BackchannelRequest = { ...asking, place }
          const stored = [REQUEST, hash, taking, storedFor, approval.user, MOST]
          // Deleted meanwhile.
          if ((await query(statements.putOfUser, stored)).length === 0) throw unknownUser()
          await query(statements.put, [hash, POLLS, FIRST, storedFor])
          return taking
        })
        return { authReqId, request }
      } catch (error) {
        // It may be stored all the same, as where the answer to the commit was lost: nobody is told of it, and nobody answers it.
        if (place !== undefined) await Promise.allSettled([requests.delete(id), places.free(of, place, id)])
        throw error
      }
    },
    async findByAuthReqId(authReqId) {
      const id = hashOf(authReqId)
      return { id, request: await requests.get(id) }
    },
    find: async (id) => requests.get(id),
    async listOpen(userId) {
      const listed = await requests.list(userId)
      const open = listed.map(({ value }) => value).filter(isOpen)
      return open.toSorted((one, other) => other.askedAt - one.askedAt)
    },
    async decide(id, decision, page) {
      const [sent, allowed] = [sentBy(page), 'granted' in decision]
      const request = await requests.get(id)
      if (request !== null && isOpen(request)) {
        const isDecided = await audit.transaction(async (query, note) => {
          const values = [REQUEST, box.hashes(id), request, { ...request, decision }] as const
          if ((await query(statements.replace, values)).length === 0) return false
          await decisions.note(query, sent, { allowed })
          note(eventOf(request, decision))
          return true
        })
        if (isDecided) {
          await free(request)
          return true
        }
      }
      // By the same form, whose answer was lost, or which was sent twice.
      if ((await decisions.find(sent))?.allowed !== allowed) return false
      if (request !== null) await free(request)
      return true
    },
    hasDecided: async (page) => (await decisions.find(sentBy(page))) !== null,
    async withdraw(request) {
      await requests.delete(request.id)
      await free(request)
    },
    async pingOf(id, client) {
      const request = await requests.get(id)
      if (request?.ping === undefined || request.decision === undefined) return null
      if (!isOfClient(request.approval.client, request.askedAt, client)) return null
      return JSON.parse(box.open(request.ping, contextOf(id))) as Ping
    },
    poll: polls.note,
  }

  function sealed(ping: Ping, id: string): string {
    return box.seal(JSON.stringify(ping), contextOf(id))
  }
}

function eventOf({ id, address, approval: { client, user } }: BackchannelRequest, decision: Decision) {
  const about = { client, user }
  const details = { request: id, address }
  if ('granted' in decision) return { type: 'ciba.allowed', ...about, details } as const
  const { unmet } = decision
  const why = unmet === undefined ? {} : { unmet }
  return { type: 'ciba.denied', ...about, details: { ...details, ...why } } as const
}

/** CIBA §13. Whoever it was about: nobody, somebody disabled, or somebody who is deleted. */
export function unknownUser(): OAuthError {
  return new OAuthError('unknown_user_id', 'nobody is known here by this hint')
}

function placeOf({ approval: { user, client } }: Pick<BackchannelRequest, 'approval'>): PlaceOf {
  return { user: user!, client }
}

function sentBy({ entry, user }: DecidingPage): SentForm {
  return { form: entry, browser: user }
}

function contextOf(id: string): string {
  return `ciba ping ${id}`
}
