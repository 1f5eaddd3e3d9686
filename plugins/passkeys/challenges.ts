/**
 * Challenges: 256 bits that only we can tell, bound to what they are for, good for a quarter of an hour, and once over all
 * processes. Nothing is stored for those that nobody answers: what a challenge is made from travels with its form.
 */
import { randomBytes } from 'node:crypto'
import type { Kernel } from '../../src/services/kernel.ts'

export interface Challenge {
  /** base64url, for the authenticator to sign. */
  readonly challenge: string
  /** What it is made from, for the form. */
  readonly issued: string
}

export interface Challenges {
  make(purpose: string): Challenge
  /** Whether that is the challenge which was made for `purpose`; compares in constant time. */
  matches(purpose: string, made: Challenge): boolean
  /** Whether an answer may still come. */
  isOpen(issued: string): boolean
  /** Uses it up: of all who ask, in any process, one gets true. */
  spend(purpose: string, issued: string): Promise<boolean>
}

/** Milliseconds. */
const LIFETIME = 900_000

export function createChallenges({ box, once }: Pick<Kernel, 'box' | 'once'>): Challenges {
  const textOf = (purpose: string, issued: string): string => `passkey challenge\0${purpose}\0${issued}`

  return {
    make(purpose) {
      const issued = `${Date.now()}.${randomBytes(32).toString('base64url')}`
      return { issued, challenge: Buffer.from(box.hash(textOf(purpose, issued))).toString('base64url') }
    },
    matches: (purpose, { challenge, issued }) =>
      box.matches(textOf(purpose, issued), Buffer.from(challenge, 'base64url').toString()),
    isOpen: (issued) => endOf(issued) > Date.now(),
    spend: async (purpose, issued) => once('passkey', `${purpose}\0${issued}`, new Date(endOf(issued))),
  }
}

function endOf(issued: string): number {
  const [, at = '0'] = /^(\d{13})\.[\w-]{43}$/.exec(issued) ?? []
  return Number(at) + LIFETIME
}
