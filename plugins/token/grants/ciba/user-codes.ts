/**
 * Codes that people choose (CIBA §7.1 `user_code`): who has one is asked by nobody who does not know it, whatever the client has registered. A
 * short code is guessed soon, so what is stored is a keyed hash, encrypted, and tries are limited.
 */
import type { FastifyInstance } from 'fastify'
import type { Call } from '../../../../src/doors/back-channel.ts'
import type { User } from '../../../../src/doors/user.ts'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { UnreadableError } from '../../../../src/services/keys/secret-box.ts'
import type { ThrottleLimits } from '../../../../src/services/throttle/throttle-limits.ts'
import { setSole } from '../../../../src/services/users/sole-record.ts'

interface Stored {
  readonly hash: string
}

export interface UserCodes {
  has(userId: string): Promise<boolean>
  /** In the place of one that they had; false for what cannot be one. */
  set(userId: string, code: string): Promise<boolean>
  remove(userId: string): Promise<void>
  /** Throws `missing_user_code` or `invalid_user_code`, and 429 where too many were wrong. */
  assertKnown(user: User, code: string | undefined, call: Pick<Call, 'client' | 'request'>): Promise<void>
}

const ID = 'code'
/** Characters, of any kind but those that nobody types. */
const FIT = /^\P{Cc}{4,64}$/u
/** Of one client at one person, from everywhere: four in an hour, once it has used up the first. */
const GUESSES: ThrottleLimits = {
  ownerOf(account) {
    const [user = '', ...client] = account.split(' ')
    return { user, client: client.join(' ') }
  },
  account: { failures: 10, recovery: 900 },
  network: { failures: 40, recovery: 5 },
  everywhere: { failures: 20, recovery: 900 },
}

export function createUserCodes(fastify: FastifyInstance): UserCodes {
  const { oauth } = fastify
  const { box } = kernelOf(fastify)
  const records = oauth.users.records<Stored>('ciba-user-code', { sealed: true })
  const throttle = oauth.throttle('ciba-user-code', GUESSES)
  const typed = (code: string): string => code.normalize('NFKC').trim()
  const secretOf = (userId: string, code: string): string => `ciba user code\0${userId}\0${typed(code)}`

  return {
    async has(userId) {
      try {
        return (await records.get(userId, ID)) !== null
      } catch (error) {
        if (error instanceof UnreadableError) return true
        throw error
      }
    },
    async set(userId, code) {
      if (!FIT.test(typed(code))) return false
      const value = { hash: box.hash(secretOf(userId, code)) }
      const event = { type: 'ciba.user_code_set', user: userId, details: {} } as const
      await setSole(records, userId, ID, value, event)
      return true
    },
    async remove(userId) {
      await records.delete(userId, ID, { type: 'ciba.user_code_removed', user: userId, details: {} })
    },
    async assertKnown({ id }, code, { client, request }) {
      const had = await records.get(id, ID)
      if (had === null) return
      if (code === undefined)
        throw new OAuthError(
          'missing_user_code',
          'the parameter user_code is missing: this person has set one',
        )
      const attempt = await throttle.attempt(`${id} ${client.clientId}`, request.ip)
      try {
        if (box.matches(secretOf(id, code), had.value.hash)) return attempt.succeeded()
        await attempt.failed()
      } finally {
        attempt.abandoned()
      }
      throw new OAuthError('invalid_user_code', 'the user_code is not the one of this person')
    },
  }
}
