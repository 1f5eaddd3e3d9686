/** What is judged of a password that somebody gives a user, whoever gives it, before it is hashed. */
import type { FastifyBaseLogger } from 'fastify'
import { userError } from '../../protocol/user-members.ts'
import type { Passwords } from './passwords.ts'

export interface ChosenPasswordsOptions {
  passwords: Passwords
  /** A production start refuses short passwords; a development start warns of them. */
  production: boolean
  log: FastifyBaseLogger
}

/** The hash to store of a password for `username`. Throws `invalid_request` that names it. */
export type HashChosen = (password: string, username: string | undefined) => Promise<string>

export function createHashChosen({ passwords, production, log }: ChosenPasswordsOptions): HashChosen {
  return async (password, username) => {
    const problem = passwords.problem(password)
    if (problem !== undefined) throw userError('password', problem)
    if (passwords.isShort(password)) {
      if (production) throw userError('password', 'must have 8 characters at least')
      log.warn({ user: username }, 'a password of fewer than 8 characters: a production start refuses it')
    }
    return passwords.hash(password)
  }
}
