/** Who is at work, and by which request: what the audit log notes beside what was done, wherever that was. */
import type { FastifyRequest } from 'fastify'
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Actor } from '../../events.ts'

export interface Origin {
  readonly actor: Actor
  readonly address: string | null
  readonly requestId: string | null
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose request it was found to be; null before, and for strangers. */
    actor: Actor | null
  }
}

/** What is done of itself, and what is found out by the way, whoever's request is at work. */
export const SERVER: Actor = { kind: 'server', id: null }
const STRANGER: Actor = { kind: 'user', id: null }
/** Told apart by what it is: an app may give its requests members of any name. */
class Turned {
  readonly origin: Origin
  constructor(origin: Origin) {
    this.origin = origin
  }
}

const origins = new AsyncLocalStorage<FastifyRequest | Actor | Turned>()

/** Whatever `work` does, also later, is this actor's, or that of the one whose request it is. */
export function runAs<T>(whose: FastifyRequest | Actor, work: () => T): T {
  return origins.run(whose, work)
}

/** `work` is this actor's, by the request that is at work now. */
export function actAs<T>(actor: Actor, work: () => T): T {
  return origins.run(new Turned({ ...currentOrigin(), actor }), work)
}

/** Of what is being done now. */
export function currentOrigin(): Origin {
  const whose = origins.getStore()
  if (whose === undefined) return { actor: SERVER, address: null, requestId: null }
  if (whose instanceof Turned) return whose.origin
  if ('kind' in whose) return { actor: whose, address: null, requestId: null }
  return { actor: whose.actor ?? STRANGER, address: whose.ip, requestId: whose.id }
}
