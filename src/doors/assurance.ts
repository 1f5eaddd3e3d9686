/**
 * How sure the server must be of who is there. Policies say what a sign-in must have shown; until all of them are met the session is
 * pending, and opens nothing but the steps that raise it.
 */
import type { ApprovalRequest } from './approval.ts'
import { reachesAcr } from '../../plugins/require-scope/acr.ts'
import type { User } from './user.ts'

/** What somebody has shown in a sign-in so far. */
export interface Factors {
  /** RFC 8176. */
  readonly amr: readonly string[]
  /** OpenID Connect Core §2. */
  readonly acr: string | null
}

/** What a sign-in must have shown. */
export interface Requirement {
  /** Any of these will do, and what is stronger: `1` < `2` < `phr` < `phrh`. */
  readonly acr?: readonly string[]
  /** All of these. */
  readonly amr?: readonly string[]
}

/** What a way to sign in, or a step, can bring somebody to. */
export interface Reach {
  /** Of these are `acr_values_supported`. */
  readonly acr: readonly string[]
  /** Whether it can bring this user there: a wish for what they cannot reach (`acr_values`) is passed over. By default everybody. */
  by?(user: User): Promise<boolean> | boolean
  /**
   * Whether it brings this user there with what they have, where it could also have them set up first what it takes: of several wishes, those
   * for which nobody has to come before that. By default as `by`.
   */
  ready?(user: User): Promise<boolean> | boolean
}

export interface AssuranceQuestion {
  readonly user: User
  /**
   * What they sign in for. Pages of ours are asked for by a client of the `clientId` `''`, which has no metadata; so is what a user's
   * session must have shown whatever they do with it.
   */
  readonly request: ApprovalRequest
}

/** One rule of the order: by user, role, client, or what the request asks for (`acr_values`, an essential `acr`). */
export interface AssurancePolicy {
  readonly name: string
  /**
   * Null for nothing more. Asked at each sign-in, each page and each authorization request of somebody who is signed in, so let it
   * answer from memory where it can (`user`, and `has` of a factor's records): what decides where somebody is led is asked again once those
   * have been read anew. So it may be asked twice for one request, and must change nothing. What it throws is a failure of ours: nobody passes.
   */
  require(asked: AssuranceQuestion): Promise<Requirement | null> | Requirement | null
}

/** Whether the factors are what is required. */
export function satisfies({ amr, acr }: Factors, required: Requirement): boolean {
  const hasAcr = required.acr === undefined || required.acr.some((one) => reachesAcr(acr, one))
  return hasAcr && (required.amr ?? []).every((one) => amr.includes(one))
}
