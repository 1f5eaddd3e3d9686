/** The passkeys of users: records of theirs by the ids of the credentials, one user at most having each. */
import { createHmac } from 'node:crypto'
import type { UserRecord } from '../../src/doors/user-records.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import type { OAuth } from '../oauth/index.ts'
import { nameFor } from './authenticators.ts'

/** What is kept of one. */
export interface Passkey {
  /** What its user calls it. */
  readonly name: string
  /** COSE_Key (RFC 9052 §7), base64url. */
  readonly publicKey: string
  /** Of signatures; 0 of authenticators that count none. */
  readonly counter: number
  readonly userHandle: string
  /** The kind of the authenticator. */
  readonly aaguid: string
  /** How browsers reach it: `internal`, `usb`, `hybrid` … */
  readonly transports: readonly string[]
  /** Whether it may be on several devices of its owner, and whether it was when it was last used. */
  readonly syncable: boolean
  readonly synced: boolean
  /** Milliseconds since the epoch; null for never. */
  readonly usedAt: number | null
}

export type KnownPasskey = UserRecord<Passkey>

/** `fastify.passkeys`: for pages, commands and plugins that list and remove them. */
export interface Passkeys {
  /** The oldest first. */
  list(userId: string): Promise<KnownPasskey[]>
  /** False where there is none of this id. The name has 1 to 60 characters. */
  rename(userId: string, id: string, name: string): Promise<boolean>
  /** False where there is none. Throws `OAuthError` (`invalid_request`) for the last way in that the user has. */
  remove(userId: string, id: string): Promise<boolean>
}

export interface OwnPasskeys extends Passkeys {
  /** Whose it is; null for nobody's. */
  find(id: string): Promise<{ readonly userId: string; readonly passkey: KnownPasskey } | null>
  /** Called by its `kind`, and a number where there are more of it. `taken` where somebody has it already, `full` after twenty. */
  add(
    userId: string,
    id: string,
    made: Omit<Passkey, 'name' | 'usedAt'>,
    kind: string,
  ): Promise<'added' | 'taken' | 'full'>
  /**
   * What is known of it after a sign-in; `gone` where it was removed meanwhile, `counter` where it has been used more often than it says
   * (Web Authentication §6.1.1): then nothing is stored.
   */
  use(
    userId: string,
    id: string,
    seen: Pick<Passkey, 'counter' | 'synced'>,
  ): Promise<'used' | 'gone' | 'counter'>
  /** What authenticators know the user by: it tells nobody who that is, and is not the `sub` (§14.6.1). */
  handleOf(userId: string): Promise<string>
}

/** What a name may be. */
export const NAME_LENGTH = 60
/** Enough for all devices of a person, and the browser is told of all of them. */
export const MOST = 20

/** The server's secret under which user handles are made. */
export const USER_HANDLES = 'passkey-user-handles'

export function createPasskeys({ users, secret }: OAuth): OwnPasskeys {
  const records = users.records<Passkey>('passkey', {
    unique: true,
    signsIn: true,
    most: MOST,
    describe: ({ name, aaguid, synced, usedAt }) => ({
      name,
      aaguid,
      synced,
      last_used: usedAt === null ? null : new Date(usedAt).toISOString(),
    }),
  })

  /** Lays `changes` over what is there; false where there is nothing, or `changes` has none. */
  async function change(
    userId: string,
    id: string,
    changes: (passkey: Passkey) => Partial<Passkey> | null,
  ): Promise<boolean> {
    for (;;) {
      const had = await records.get(userId, id)
      const changed = had === null ? null : changes(had.value)
      if (had === null || changed === null) return false
      // Of two at once the other looks again.
      if (await records.replace(userId, had, { ...had.value, ...changed })) return true
    }
  }

  return {
    list: records.list,
    async find(id) {
      const userId = await records.owner(id)
      const passkey = userId === null ? null : await records.get(userId, id)
      return userId === null || passkey === null ? null : { userId, passkey }
    },
    async add(userId, id, made, kind) {
      const known = await records.list(userId)
      const name = nameFor(
        kind,
        known.map(({ value }) => value.name),
      )
      const event = { type: 'user.passkey_added', user: userId, details: { name } } as const
      try {
        return (await records.put(userId, id, { ...made, name, usedAt: null }, event)) ? 'added' : 'taken'
      } catch (error) {
        if (!(error instanceof OAuthError) || error.code !== 'invalid_request') throw error
        return 'full'
      }
    },
    async use(userId, id, { counter, synced }) {
      let wentBack = false
      const isUsed = await change(userId, id, ({ counter: last }) => {
        wentBack = (counter > 0 || last > 0) && counter <= last
        return wentBack ? null : { counter, synced, usedAt: Date.now() }
      })
      return isUsed ? 'used' : wentBack ? 'counter' : 'gone'
    },
    rename: async (userId, id, name) => change(userId, id, () => ({ name })),
    async remove(userId, id) {
      const had = await records.get(userId, id)
      if (had === null) return false
      const { name } = had.value
      return records.delete(userId, id, { type: 'user.passkey_removed', user: userId, details: { name } })
    },
    async handleOf(userId) {
      const key = await secret(USER_HANDLES)
      return createHmac('sha256', key).update(userId).digest('base64url')
    },
  }
}
