/** The passkeys of a user in the administration: to look at, and to delete for who has lost the device. */
import type { FastifyInstance } from 'fastify'
import { OAuthError } from '../../src/protocol/errors.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { AdminArea } from '../admin/sections.ts'
import type { PageCall } from '../pages/index.ts'
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
  /** What was done, or was not; null for nothing. */
  done: { kind: 'success' | 'alert'; text: Words } | null
}

const PATH = '/user/delete-passkey'
const PART = 'admin-user-passkeys'
const DONE: Readonly<Record<string, UserPasskeys['done']>> = {
  deleted: { kind: 'success', text: message('The passkey is deleted: it signs nobody in any more.') },
  last: {
    kind: 'alert',
    text: message(
      'This is the only way by which the user can sign in. Make a link for a password first; whoever has stolen the device cannot sign in while the user is disabled.',
    ),
  },
}

export async function addAdministration(
  { admin, oauth, pages }: FastifyInstance,
  passkeys: Passkeys,
): Promise<void> {
  await pages.add(PART, new URL('../../templates/admin-user-passkeys.eta', import.meta.url))
  const area: AdminArea = admin.addUserPart({
    name: 'passkeys',
    part: PART,
    async model({ id: userId }, call): Promise<UserPasskeys> {
      const known = await passkeys.list(userId)
      const { passkey: done = '' } = call.wire
      return {
        userId,
        passkeys: known.map(({ id, value: { name, usedAt, synced }, createdAt }) => ({
          id,
          name,
          since: new Date(createdAt),
          lastUsed: usedAt === null ? null : new Date(usedAt),
          synced,
          remove: area.target(call, PATH, subjectOf(userId, id)),
        })),
        done: typeof done === 'string' && Object.hasOwn(DONE, done) ? DONE[done]! : null,
      }
    },
  })
  const Text = Type.Optional(Type.String())
  const back = ({ reply }: PageCall, userId: string, done: string) =>
    reply.redirect(`${area.userUri(userId)}&passkey=${done}#passkeys`, 303)

  area.serve({
    path: `/admin${PATH}`,
    query: Type.Object({ id: Text }),
    form: Type.Object({ id: Text, passkey: Text }),
    show: async ({ id = '' }, { reply }) => reply.redirect(area.userUri(id), 303),
    async submit({ id: userId = '', passkey: id = '' }, call) {
      area.assertGenuine(call, PATH, subjectOf(userId, id))
      const again = area.signInAgain(call, `${area.userUri(userId)}&done=again`)
      if (again !== undefined) return again
      const user = await oauth.findUser(userId)
      if (user === null) throw new OAuthError('not_found', 'no user has this id', { status: 404 })
      try {
        // One that is gone already is as it was wanted.
        await passkeys.remove(userId, id)
      } catch (error) {
        if (!(error instanceof OAuthError) || error.code !== 'invalid_request') throw error
        return back(call, userId, 'last')
      }
      return back(call, userId, 'deleted')
    },
  })
}

function subjectOf(userId: string, id: string): string {
  return `${userId} ${id}`
}
