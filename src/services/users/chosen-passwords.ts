/** What is judged of a password that somebody gives a user, whoever gives it, before it is hashed. */
import type { FastifyBaseLogger } from 'fastify'
import { userError } from '../../protocol/user-members.ts'
import { ADMIN } from './user.ts'
import { BREACHED, COMMON, tooShort, type Passwords } from './passwords.ts'

export interface ChosenPasswordsOptions {
  passwords: Passwords
  /** A production start refuses short passwords; a development start warns of them, but for what people choose themselves. */
  production: boolean
  log: FastifyBaseLogger
}

/** Whose password it is to be. */
export interface Chooser {
  readonly username: string | undefined
  /** With these; none where it is not known. */
  readonly roles?: readonly string[] | undefined
  /** By SEED_FILE: a start is not stopped for an example's password. */
  readonly seeded?: boolean | undefined
  /** By whoever is to use it, on a page: it is no example, whatever the start. */
  readonly inPerson?: boolean | undefined
}

/** The hash to store. Throws `invalid_request` that names the password. */
export type HashChosen = (password: string, chooser: Chooser) => Promise<string>

export function createHashChosen({ passwords, production, log }: ChosenPasswordsOptions): HashChosen {
  return async (password, { username, roles = [], seeded = false, inPerson = false }) => {
    const problem = passwords.problem(password)
    if (problem !== undefined) throw userError('password', problem)
    const short = passwords.isShort(password)
    const administers = roles.includes(ADMIN)
    if (short && (production || inPerson)) throw userError('password', tooShort(passwords))
    if (short)
      log.warn(
        { user: username },
        `a password of fewer than ${passwords.minLength} characters: a production start refuses it`,
      )
    if (await passwords.isCommon(password)) {
      // Short ones are examples of a development start.
      const tolerated = seeded ? !(administers && production) : short && !administers
      if (!tolerated) throw userError('password', COMMON)
      log.warn({ user: username }, 'a password that is one of the most used: whoever guesses tries it first')
    }
    // Examples are looked up nowhere: neither those of SEED_FILE, nor short ones of a development start.
    const isExample = seeded || (short && !administers)
    if (!isExample && (await passwords.isBreached(password))) throw userError('password', BREACHED)
    return passwords.hash(password)
  }
}
