/**
 * Finds out which client a request comes from. The client is found first, by what the request claims; of the methods that
 * recognise the request its registered one judges. A wrong secret, an unknown client and a method that the client may
 * not use are one answer, in one time, and each counts as one failure.
 */
import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '../../doors/client.ts'
import { invalidClient } from '../../protocol/invalid-client.ts'
import type { Wire } from '../../protocol/wire.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { Directory } from '../directory.ts'
import { revisionOf } from './served-client.ts'
import { assertInOrder } from './in-order.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import type { Attempt, Throttle } from '../throttle/throttle.ts'
import {
  claimsOf,
  createFindPresented,
  judgeOf,
  mayUse,
  type Presented,
  WHEN_UNSET,
} from './presented-methods.ts'

export interface ClientAuthenticator {
  /**
   * The client, proven; a public one only where `publicClients` allows it. Throws `invalid_client` (401, with a
   * challenge), `invalid_request` for two methods at once (RFC 6749 §2.3), and 429 after too many failures.
   */
  authenticate(request: FastifyRequest, wire: Wire, publicClients: boolean): Promise<Client>
}

/**
 * Refusals leave at multiples of this, in milliseconds: what little the reading of a client that exists costs more
 * than of one that does not is lost in it.
 */
const GRAIN = 10

async function untilGrain(began: number): Promise<void> {
  await delay(GRAIN - ((performance.now() - began) % GRAIN))
}

interface Judgement {
  proven: Client | undefined
  /** Whoever the first claim names, as last seen: by now memory may have dropped it, as of a change. */
  claimed: Client | null
}

export interface ClientAuthenticatorOptions {
  doors: DoorRegistry
  directory: Directory
  throttle: Throttle
  audit: AuditTrail
  box: SecretBox
  issuer: string
  log: FastifyBaseLogger
}

export function createClientAuthenticator(options: ClientAuthenticatorOptions): ClientAuthenticator {
  const { doors, directory, throttle, audit, box, issuer, log } = options
  const findPresented = createFindPresented(doors)
  /**
   * Asks memory first. Whatever fails there costs one read of the database, so that a known client with a wrong
   * secret takes as long as an unknown one, and what was changed a moment ago works at once: a secret, keys, a method.
   */
  async function prove(
    clientId: string,
    proves: (client: Client | null) => Promise<boolean>,
  ): Promise<Client | undefined> {
    const cached = directory.cachedClient(clientId)
    if (cached !== undefined && (await proves(cached))) return cached
    const stored = await directory.reloadClient(clientId)
    const unchanged = cached !== undefined && stored !== null && revisionOf(cached) === revisionOf(stored)
    return !unchanged && (await proves(stored)) && stored !== null ? stored : undefined
  }

  async function judge(
    presented: readonly Presented[],
    claims: readonly string[],
    request: FastifyRequest,
    wire: Wire,
    attempt: Attempt,
  ): Promise<Judgement> {
    let wrong = false
    let first: Client | null = null
    try {
      for (const claimed of claims) {
        const proven = await prove(claimed, async (one) => {
          if (claimed === claims[0]) first = one
          const { method, owner } = judgeOf(presented, claimed, one)
          // Another method than its own looks at nobody, in the time of an unknown client.
          const judged = one !== null && mayUse(one, method) ? one : null
          const answered: unknown = await owner.authenticate(request, wire, judged, claimed)
          // By whom no compiler reads: what only looks like a yes lets nobody in.
          if (typeof answered !== 'boolean')
            throw new TypeError(`the client authentication ${method} must answer with true or false`)
          const proves = answered && judged !== null
          wrong ||= one !== null && !proves
          return proves
        })
        if (proven !== undefined) return { proven, claimed: first }
      }
      return { proven: undefined, claimed: first }
    } catch (error) {
      // While the database is away, 503 in place of 401 would still tell a guess that is wrong from one that is right.
      if (wrong) void attempt.failed().catch(() => {})
      else attempt.abandoned()
      throw error
    }
  }

  /** An unknown client by a keyed hash: its name may be a secret that was put in the wrong place. */
  function observeFailure(name: string, known: Client | null, presented: readonly Presented[]): void {
    const details = known === null ? { account: box.hash(`audited client\0${name}`) } : {}
    audit.observe({ type: 'client.authentication_failed', client: known?.clientId, details })
    if (known === null || presented.some(({ method }) => mayUse(known, method))) return
    const { clientId: client, authenticationMethod: registered = [...WHEN_UNSET].join(' or ') } = known
    log.warn(
      { client, used: presented.map(({ method }) => method).join(' or '), registered },
      'refused: a client authenticates by another method than it is registered for',
    )
  }

  return {
    async authenticate(request, wire, publicClients) {
      const presented = findPresented(request, wire)
      const began = performance.now()
      const claims = claimsOf(presented)
      const [account] = claims
      if (account !== undefined) {
        const attempt = await throttle.attempt(account, request.ip)
        const { proven, claimed } = await judge(presented, claims, request, wire, attempt)
        if (proven !== undefined && (publicClients || !proven.isPublic())) {
          attempt.succeeded()
          assertInOrder(proven)
          return proven
        }
        observeFailure(account, claimed, presented)
        try {
          await attempt.failed()
        } finally {
          await untilGrain(began)
        }
      }
      throw invalidClient(issuer)
    },
  }
}
