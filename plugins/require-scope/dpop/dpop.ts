// DPoP (RFC 9449) for an API: the sender constraint that `requireScope` is given.
import { assertBoolean, assertFunction, assertListOf, assertNames, assertOption } from '../option-checks.ts'
import type { SenderConstraint } from '../sender-constraint.ts'
import { createNonces } from './nonces.ts'
import { createProofs, DPOP_ALGORITHMS } from './proofs.ts'
import { createSeenProofs, type Once } from './seen-proofs.ts'

export interface DpopOptions {
  /** Where requests are sent, as clients see it: scheme, host and port; all of them where there are several. */
  origin: string | readonly string[]
  /** Refuses tokens that are bound to no key. Default false. */
  required?: boolean | undefined
  /** Signature algorithms of proofs. Default: ES256/384/512, EdDSA, Ed25519, PS256/384/512. */
  algorithms?: readonly string[] | undefined
  /**
   * Makes every proof carry a nonce of this API (RFC 9449 §9), which follows from this secret: random, 32 bytes or more, the
   * same in every process. Default: no nonces.
   */
  nonceSecret?: string | Uint8Array | undefined
  /** Remembers which proofs were used, for an API of several processes. Default: in this process. */
  once?: Once | undefined
  /** The clock, in milliseconds since 1970, for tests. */
  now?: (() => number) | undefined
}

const WHO = 'dpop'
const NAMES = 'origin required algorithms nonceSecret once now'.split(' ')

/**
 * Tokens that are bound by DPoP, under the scheme `DPoP`.
 * @throws {TypeError} for an option that cannot be meant
 */
export function dpop(options: DpopOptions): SenderConstraint {
  assertNames(WHO, options, NAMES)
  const { origin, required = false, algorithms = DPOP_ALGORITHMS, nonceSecret, now = Date.now } = options
  const { once = createSeenProofs(now) } = options
  const origins = [origin].flat()
  for (const one of origins) assert(isOrigin(one), 'origin must be like https://api.example, without a path')
  assertListOf(WHO, 'algorithms', algorithms, DPOP_ALGORITHMS, 'algorithm')
  assert(origins.length > 0 && algorithms.length > 0, 'origin or algorithms is empty')
  assert(nonceSecret === undefined || nonceSecret.length >= 32, 'nonceSecret needs 32 bytes or more')
  assertBoolean(WHO, 'required', required)
  assertFunction(WHO, 'once', once)
  assertFunction(WHO, 'now', now)
  const nonces = nonceSecret === undefined ? undefined : createNonces(nonceSecret, now)
  const proofs = createProofs({ origins, algorithms, nonces, once, now })

  const described = describeDpop(algorithms)
  return {
    ...described,
    required,
    // RFC 9728 §2.
    metadata: { ...described.metadata, ...(required ? { dpop_bound_access_tokens_required: true } : {}) },
    async verify(request, { value, confirmation }, reply) {
      const wanted = { token: value, thumbprint: confirmation, nonce: nonces !== undefined }
      await proofs.assert(request, reply, wanted)
    },
  }
}

/** What is the same wherever proofs are checked. */
export function describeDpop(algorithms: readonly string[]): Omit<SenderConstraint, 'verify'> {
  return {
    scheme: 'DPoP',
    confirmation: 'jkt',
    challenge: { algs: algorithms.join(' ') },
    metadata: { dpop_signing_alg_values_supported: algorithms },
  }
}

function isOrigin(value: unknown): boolean {
  return typeof value === 'string' && /^https?:/.test(value) && URL.parse(value)?.origin === value
}

function assert(condition: boolean, message: string): asserts condition {
  assertOption(WHO, condition, message)
}
