/**
 * Finds out which client a request comes from: one registered method must recognize the request, and must prove it.
 * A wrong secret, an unknown client and a method that the client may not use are one answer, in one time, and each
 * counts as one failure.
 */
import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Client, ClientAuthentication } from '../../doors/client.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Wire } from '../../protocol/wire.ts'
import type { AuditTrail } from '../audit/audit.ts'
import { secretsOf, type Directory } from '../directory.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import type { Attempt, Throttle } from '../throttle/throttle.ts'

export interface ClientAuthenticator {
  /**
   * The client, proven; a public one only where `publicClients` allows it. Throws `invalid_client` (401, with a
   * challenge), `invalid_request` for two methods at once (RFC 6749 §2.3), and 429 after too many failures.
   */
  authenticate(request: FastifyRequest, wire: Wire, publicClients: boolean): Promise<Client>
}

interface Presented {
  method: string
  owner: ClientAuthentication
  /** The client_ids that the request claims. */
  claims: readonly string[]
}

/** Methods that serve a client which did not register one (RFC 7591 §2 would make it Basic alone). */
const WHEN_UNSET = new Set(['client_secret_basic', 'client_secret_post'])

/**
 * Refusals leave at multiples of this, in milliseconds: what little the reading of a client that exists costs more
 * than of one that does not is lost in it.
 */
const GRAIN = 10

async function untilGrain(began: number): Promise<void> {
  await delay(GRAIN - ((performance.now() - began) % GRAIN))
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
  const refuse = (): OAuthError =>
    new OAuthError('invalid_client', 'client authentication failed', {
      headers: { 'www-authenticate': `Basic realm="${issuer}", charset="UTF-8"` },
    })
  const mayUse = ({ authenticationMethod }: Client, method: string): boolean =>
    authenticationMethod === undefined ? WHEN_UNSET.has(method) : authenticationMethod === method

  /** The one method that the request uses. */
  function findMethod(request: FastifyRequest, wire: Wire): Presented {
    let presented: Presented | undefined
    for (const [method, owner] of doors.owners('clientAuthentication')) {
      const claims = owner.recognizes(request, wire)
      if (claims === null) continue
      if (presented !== undefined)
        throw new OAuthError('invalid_request', 'the client authenticates in two ways at once')
      presented = { method, owner, claims }
    }
    if (presented === undefined) throw refuse()
    return presented
  }

  /**
   * Asks memory first. Whatever fails there costs one read of the database, so that a known client with a wrong
   * secret takes as long as an unknown one, and a secret that was rotated a moment ago works at once.
   */
  async function prove(
    clientId: string,
    proves: (client: Client | null) => Promise<boolean>,
  ): Promise<Client | undefined> {
    const cached = directory.cachedClient(clientId)
    if (cached !== undefined && (await proves(cached))) return cached
    const stored = await directory.reloadClient(clientId)
    const unchanged = cached !== undefined && isDeepStrictEqual(secretsOf(cached), secretsOf(stored))
    return !unchanged && (await proves(stored)) && stored !== null ? stored : undefined
  }

  async function findProven(
    { method, owner, claims }: Presented,
    request: FastifyRequest,
    wire: Wire,
    attempt: Attempt,
  ): Promise<Client | undefined> {
    let wrong = false
    try {
      for (const claimed of claims) {
        const client = await prove(claimed, async (one) => {
          const proves = await owner.authenticate(request, wire, one, claimed)
          wrong ||= one !== null && !proves
          return proves
        })
        if (client !== undefined && mayUse(client, method)) return client
      }
      return undefined
    } catch (error) {
      // While the database is away, 503 in place of 401 would still tell a guess that is wrong from one that is right.
      if (wrong) void attempt.failed().catch(() => {})
      else attempt.abandoned()
      throw error
    }
  }

  /** An unknown client by a keyed hash: its name may be a secret that was put in the wrong place. */
  function observeFailure(claimed: string, used: string): void {
    const known = directory.cachedClient(claimed)
    const details = known === undefined ? { account: box.hash(`audited client\0${claimed}`) } : {}
    audit.observe({ type: 'client.authentication_failed', client: known?.clientId, details })
    if (known === undefined || mayUse(known, used)) return
    const { clientId: client, authenticationMethod: registered = [...WHEN_UNSET].join(' or ') } = known
    log.warn(
      { client, used, registered },
      'refused: a client authenticates by another method than it is registered for',
    )
  }

  return {
    async authenticate(request, wire, publicClients) {
      const presented = findMethod(request, wire)
      const began = performance.now()
      const [account] = presented.claims
      if (account !== undefined) {
        const attempt = await throttle.attempt(account, request.ip)
        const proven = await findProven(presented, request, wire, attempt)
        if (proven !== undefined && (publicClients || !proven.isPublic())) {
          attempt.succeeded()
          return proven
        }
        observeFailure(account, presented.method)
        try {
          await attempt.failed()
        } finally {
          await untilGrain(began)
        }
      }
      throw refuse()
    },
  }
}
