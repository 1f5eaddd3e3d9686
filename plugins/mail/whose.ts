/** Whose an address is, and whether they come with a browser of theirs: by the same statements for one that is nobody's. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { User } from '../../src/doors/user.ts'
import { addressKey } from '../../src/protocol/mail-address.ts'
import { NIL } from '../../src/protocol/uuid.ts'
import type { Owner } from '../../src/services/throttle/throttle-limits.ts'

export interface Asking {
  /** The address in one spelling, as throttles count it. */
  readonly account: string
  /** For throttles; null where they have not signed in with this browser before. */
  readonly mark: string | null
}
export interface Whose extends Asking {
  readonly user: User | null
}

/** Nobody is looked up, but where a browser shows marks: whose they are, its user knows. */
export async function askingFor(
  { oauth, browser }: FastifyInstance,
  email: string,
  request: FastifyRequest,
): Promise<Asking> {
  const mark = await browser.markOf(request, async () => oauth.users.findByEmail(email))
  return { account: addressKey(email) ?? email, mark }
}

export async function whoseIs(
  { oauth, browser }: FastifyInstance,
  email: string,
  request: FastifyRequest,
): Promise<Whose> {
  const user = await oauth.users.findByEmail(email)
  const mark = await browser.markOf(request, user ?? { id: NIL, username: email })
  return { user, account: addressKey(email) ?? email, mark }
}

/** Of throttles whose accounts are addresses. */
export function ofAddress({ oauth }: FastifyInstance): (account: string) => Promise<Owner> {
  return async (account) => {
    const user = await oauth.users.findByEmail(account)
    return user === null ? {} : { user: user.id }
  }
}
