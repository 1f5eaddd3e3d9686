/** The linked sign-ins of a user in the administration: to look at, and to unlink for who cannot, or where somebody else has them. */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { message } from '../../src/protocol/message.ts'
import type { AdminArea } from '../admin/sections.ts'
import { type Removed, serveRemoval } from '../admin/users/removal.ts'
import type { FormTarget } from '../pages/models.ts'
import type { LinkedSignIns } from './links.ts'
import { nameIn } from './words.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'admin-user-linked-sign-ins': UserLinkedSignIns
  }
}

export interface UserLinkedSignIns {
  userId: string
  links: readonly {
    id: string
    name: string
    /** What the upstream called them when it was linked; null where it said nothing. */
    as: string | null
    issuer: string
    /** By which the upstream knows them. */
    subject: string
    since: Date
    unlink: FormTarget
  }[]
  done: Removed | null
}

const PART = 'admin-user-linked-sign-ins'

export async function addAdminLinks(fastify: FastifyInstance, links: LinkedSignIns): Promise<void> {
  const { admin, pages } = fastify
  const { upstreams } = kernelOf(fastify)
  await pages.add(PART, new URL('../../templates/admin-user-linked-sign-ins.eta', import.meta.url))
  const area: AdminArea = admin.addUserPart({
    name: 'upstreams',
    part: PART,
    async model({ id: userId }, call): Promise<UserLinkedSignIns | null> {
      const [all, own] = [await upstreams.all(), await links.list(userId)]
      const done = removing.doneOf(call)
      if (all.length + own.length === 0 && done === null) return null
      return {
        userId,
        links: own.map(({ id, createdAt, value: { issuer, subject, name } }) => ({
          id,
          name: nameIn(all, issuer),
          as: name,
          issuer,
          subject,
          since: new Date(createdAt),
          unlink: removing.target(call, userId, id),
        })),
        done,
      }
    },
  })
  const removing = serveRemoval(fastify, area, {
    path: '/user/unlink',
    field: 'link',
    heading: 'linked-sign-ins',
    remove: links.unlink,
    words: {
      deleted: message('It is unlinked: it does not sign the user in any more.'),
      last: message(
        'This is the only way by which the user can sign in. Make a link for a password first; whoever has taken it over cannot sign in while the user is disabled.',
      ),
    },
  })
}
