/** What the steps and the pages of the account share. */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { message } from '../../src/protocol/message.ts'
import type { Kernel } from '../../src/services/kernel.ts'
import { createAuthenticators, type Authenticators } from './authenticator.ts'
import { createGuess, type Guess } from './guesses.ts'
import { createRecoveryCodes, type RecoveryCodes } from './recovery-codes.ts'
import { createRememberedBrowsers, REMEMBERED_FOR, type RememberedBrowsers } from './remembered-browsers.ts'

export interface Factors {
  readonly fastify: FastifyInstance
  readonly kernel: Kernel
  readonly authenticators: Authenticators
  readonly recoveryCodes: RecoveryCodes
  readonly remembered: RememberedBrowsers
  readonly guess: Guess
}

/** RFC 8176 §2, and what a sign-in reaches with it. */
export const SHOWN = { amr: ['otp', 'mfa'], acr: '2' } as const
export const NOT_RIGHT = message(
  'That code is not right, or was used already. Wait for the next one, and check that the clock of your phone is right.',
)

/** The factor is there, but nobody can tell a right code from a wrong one. */
export const UNREADABLE = message(
  'Codes cannot be checked at the moment: they are stored under a key that this server does not have now. Nothing is lost. Tell whoever runs this service.',
)

export function createFactors(fastify: FastifyInstance): Factors {
  const kernel = kernelOf(fastify)
  const cookie = fastify.browser.cookie('remembered', { maxAge: REMEMBERED_FOR })
  return {
    fastify,
    kernel,
    authenticators: createAuthenticators(kernel),
    recoveryCodes: createRecoveryCodes(kernel),
    remembered: createRememberedBrowsers(kernel, cookie),
    guess: createGuess(fastify),
  }
}
