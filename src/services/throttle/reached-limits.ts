/**
 * Tells the audit log where guessing began to be refused: whose account it is where it is somebody's, and never what was
 * typed. When that is news is for the throttle.
 */
import type { Audit } from '../audit/audit.ts'
import type { Directory } from '../directory.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import type { Owner, ThrottleLimits } from './throttle-limits.ts'

export interface ReachedLimit {
  /** Of attempt, such as `user`. */
  readonly kind: string
  readonly limit: 'account' | 'network' | 'everywhere'
  /** Null where the limit is of all accounts. */
  readonly account: string | null
  /** Whose it is, where the kind knows. */
  readonly ownerOf?: ThrottleLimits['ownerOf']
}

export type TellReached = (reached: ReachedLimit) => void

export interface TellReachedOptions {
  audit: Pick<Audit, 'observe'>
  box: SecretBox
  /** By what was typed to sign in. */
  users: Record<'find' | 'findByEmail', (name: string) => Promise<{ readonly id: string } | null>>
  directory: Pick<Directory, 'findClient'>
}

export function createTellReached({ audit, box, users, directory }: TellReachedOptions): TellReached {
  /** Null for nobody's, for what a plugin counts and says nothing of, and for anybody's while the database is away. */
  async function findOwner({ kind, ownerOf }: ReachedLimit, account: string): Promise<Owner | null> {
    try {
      if (ownerOf !== undefined) return await ownerOf(account)
      if (kind === 'user') {
        // An address before a name, as at sign-in.
        const user = (await users.findByEmail(account)) ?? (await users.find(account))
        return user && { user: user.id }
      }
      if (kind !== 'client') return null
      return await directory.findClient(account).then((client) => client && { client: client.clientId })
    } catch {
      return null
    }
  }

  async function observe(reached: ReachedLimit): Promise<void> {
    const { kind, limit, account } = reached
    if (account === null) return audit.observe({ type: 'limit.reached', details: { kind, limit } })
    const { user, client } = (await findOwner(reached, account)) ?? {}
    const owner = { ...(user === undefined ? {} : { user }), ...(client === undefined ? {} : { client }) }
    // The same hash as that of the failures before it.
    const isKnown = user !== undefined || client !== undefined
    const hashed = isKnown ? {} : { account: box.hash(`audited ${kind}\0${account}`) }
    audit.observe({ type: 'limit.reached', ...owner, details: { kind, limit, ...hashed } })
  }

  return (reached) => void observe(reached)
}
