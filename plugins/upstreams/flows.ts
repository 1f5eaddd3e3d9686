/**
 * Sign-ins that are under way at an upstream: each has a `state` of 256 bits, of which only a hash is stored, is of one browser and one
 * upstream, and is spent once over all processes. What proves the answer (`nonce`, the PKCE verifier) is made of the state under a secret of
 * ours, so that nobody has it who reads the database or the address.
 */
import { createHmac, type KeyObject, randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import { hashOf, isSameHash } from '../../src/protocol/handle.ts'
import { networkOf } from '../../src/protocol/network.ts'
import { kindOf, type UpstreamKind } from '../../src/protocol/upstream-kinds.ts'
import type { UpstreamInformation } from '../../src/services/upstreams/upstream-registry.ts'
import type { Asked, Checks } from './provider.ts'

/** What it is for. */
export type Purpose =
  | {
      readonly for: 'sign-in'
      /** The way back to the interaction. */
      readonly address: string
      /** The id of who has to show once more that it is them; null where anybody may come. */
      readonly known: string | null
      /** They were to sign in there anew; absent also in those of an earlier version. */
      readonly fresh?: true
      /** Seconds: how long ago they may have signed in there; null for any time. */
      readonly maxAge: number | null
    }
  | { readonly for: 'link'; readonly userId: string; readonly sid: string }

/** An id may be that of another provider later, and one that promised to ask anew may be of a kind that cannot. */
type Registered = Pick<UpstreamInformation, 'id' | 'issuer' | 'kind'>

interface Stored {
  readonly upstream: string
  /** Those of an earlier version do not say. */
  readonly issuer?: string
  readonly kind?: UpstreamKind
  /** Hash of what the browser is known by. */
  readonly browser: string
  /** Milliseconds since the epoch. */
  readonly begun: number
  readonly purpose: Purpose
  readonly choosing?: true
}

export interface Flow {
  readonly checks: Checks
  /** Milliseconds since the epoch. */
  readonly begun: number
  readonly purpose: Purpose
  /** Whether they were to choose there who they are (`prompt=select_account`). */
  readonly choosing: boolean
}

export interface Flows {
  /** `parameters` are what is asked of the upstream beside what proves the answer. */
  begin(
    upstream: Registered,
    purpose: Purpose,
    parameters: Asked['parameters'],
    call: BrowserCall,
  ): Promise<Asked>
  /** Uses it up. Null where there is none of this state that is this browser's and this upstream's, any more. */
  end(upstream: Registered, state: string, call: BrowserCall): Promise<Flow | null>
}

/** OpenID Connect Core §3.1.2.1; providers need not know it (§15.1). */
export const CHOOSING = 'select_account'
/** Seconds. */
const LIFETIME = 600
/** Of one network: those that began first give way. */
const MOST = 1000

export function createFlows(fastify: FastifyInstance): Flows {
  const { oauth, browser } = fastify
  const flows = oauth.artifacts<Stored>('upstream-flow', { lifetime: LIFETIME })
  let key: KeyObject
  fastify.addHook('onReady', async () => {
    key = await oauth.secret('upstream-flows')
  })

  function checksOf(state: string): Checks {
    const made = (what: string): string =>
      createHmac('sha256', key).update(`${what} ${state}`).digest('base64url')
    return { state, nonce: made('nonce'), verifier: made('verifier') }
  }

  const browserOf = (call: BrowserCall): string => markOf(browser.id(call))

  return {
    async begin(registered, purpose, parameters, call) {
      const { id: upstream, issuer } = registered
      const checks = checksOf(randomBytes(32).toString('base64url'))
      const choosing = parameters['prompt'] === CHOOSING ? { choosing: true as const } : {}
      const asked = { upstream, issuer, kind: kindOf(registered) }
      const stored = { ...asked, browser: browserOf(call), begun: Date.now(), purpose, ...choosing }
      const owner = `network ${networkOf(call.request.ip)}`
      await flows.put(stored, { handle: checks.state, owner, most: MOST })
      return { ...checks, parameters }
    },
    async end(registered, state, call) {
      const { id, issuer } = registered
      const kind = kindOf(registered)
      const found = await flows.get(state)
      if (found?.upstream !== id || (found.issuer ?? issuer) !== issuer) return null
      if ((found.kind ?? kind) !== kind) return null
      if (!isMarked(browser.id(call), found.browser)) return null
      const spent = await flows.spend(state)
      if (spent === null) return null
      const { begun, purpose, choosing = false } = spent
      return { checks: checksOf(state), begun, purpose, choosing }
    },
  }
}

/** Of what a browser is known by: to be stored, since nobody gets the cookie out of it. */
export function markOf(browser: string): string {
  return hashOf(browser)
}

export function isMarked(browser: string, mark: string): boolean {
  return isSameHash(markOf(browser), mark)
}
