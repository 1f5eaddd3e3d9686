/** The passkeys of a user in the administration: to look at, and to delete for who has lost the device. */
import type { FastifyInstance } from 'fastify'
import { message } from '../../src/protocol/message.ts'
import type { AdminArea } from '../admin/sections.ts'
import { type Removed, serveRemoval } from '../admin/users/removal.ts'
import type { FormTarget } from '../pages/models.ts'
import type { Passkeys } from './passkeys.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'admin-user-passkeys': UserPasskeys
  }
}

export interface UserPasskeys {
  userId: string
  passkeys: readonly {
    id: string
    name: string
    since: Date
    lastUsed: Date | null
    synced: boolean
    remove: FormTarget
  }[]
  done: Removed | null
}

const PART = 'admin-user-passkeys'

export async function addAdministration(fastify: FastifyInstance, passkeys: Passkeys): Promise<void> {
  const { admin, pages } = fastify
  await pages.add(PART, new URL('../../templates/admin-user-passkeys.eta', import.meta.url))
  const area: AdminArea = admin.addUserPart({
    name: 'passkeys',
    part: PART,
    async model({ id: userId }, call): Promise<UserPasskeys> {
      const known = await passkeys.list(userId)
      return {
        userId,
        passkeys: known.map(({ id, value: { name, usedAt, synced }, createdAt }) => ({
          id,
          name,
          since: new Date(createdAt),
          lastUsed: usedAt === null ? null : new Date(usedAt),
          synced,
          remove: removing.target(call, userId, id),
        })),
        done: removing.doneOf(call),
      }
    },
  })
  const removing = serveRemoval(fastify, area, {
    path: '/user/delete-passkey',
    field: 'passkey',
    heading: 'passkeys',
    remove: passkeys.remove,
    words: {
      deleted: message('The passkey is deleted: it signs nobody in any more.'),
      last: message(
        'This is the only way by which the user can sign in. Make a link for a password first; whoever has stolen the device cannot sign in while the user is disabled.',
      ),
    },
  })
}
