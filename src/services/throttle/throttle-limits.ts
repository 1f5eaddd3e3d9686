/** How often a kind of attempt may fail before it is refused. */
import { assertShape, FUNCTION, maybe, type Member, type Shape } from '../../doors/shapes.ts'
import { isObject } from '../../protocol/json.ts'

/** How many failures are allowed at once, and the seconds after which one more is. */
export interface Limit {
  readonly failures: number
  readonly recovery: number
}

export interface Owner {
  readonly user?: string
  readonly client?: string
}

/** Of limits whose accounts are users, by their ids. */
export const ofUser = (user: string): Owner => ({ user })

export interface ThrottleLimits {
  /** For one account from one network: an IPv4 address, an IPv6 /64. */
  readonly account: Limit
  /** For one network, whatever the account. */
  readonly network: Limit
  /** For one network, of failures that say nothing of it (`failed({ network: false })`): as many as come where it is not said. */
  readonly unanswered?: Limit
  /** For one account, from all networks together: who comes from a new one can be locked out by others. */
  readonly everywhere?: Limit
  /** For one mark, from all networks together, in the place of all others; where it is used up, the others hold. */
  readonly marked?: Limit
  /** Whose the account of an attempt is, for the audit log, by ids: else that is known of the kinds `user` and `client` alone. */
  readonly ownerOf?: (account: string) => Owner | Promise<Owner>
  /** Attempts of one network that may wait for those under way; as many as come where it is not said. */
  readonly waiting?: number
}

const isAbove0 = (value: unknown): boolean => typeof value === 'number' && value > 0

const LIMIT: Member = {
  is: (limit) => isObject(limit) && isAbove0(limit['failures']) && isAbove0(limit['recovery']),
  words: 'a limit, such as { failures: 20, recovery: 10 }',
}
const SHAPE: Shape<ThrottleLimits> = {
  account: LIMIT,
  network: LIMIT,
  unanswered: maybe(LIMIT),
  everywhere: maybe(LIMIT),
  marked: maybe(LIMIT),
  ownerOf: maybe(FUNCTION),
  waiting: maybe({ is: (value) => Number.isInteger(value) && Number(value) >= 0, words: 'a whole number' }),
}

/** Throws `ConfigError` for limits by which nothing could be counted. */
export function assertLimits(kind: string, limits: unknown): void {
  assertShape(`throttle ${kind}`, SHAPE, limits)
}

export const LIMITS: ThrottleLimits = {
  account: { failures: 20, recovery: 10 },
  network: { failures: 40, recovery: 5 },
}
