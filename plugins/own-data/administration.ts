/** The deletion that a user has asked for, in the administration: when it is due, and the way to cancel it. */
import type { FastifyInstance } from 'fastify'
import { Type } from '../../src/protocol/schema.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { noSuchUser } from '../admin/not-there.ts'
import type { AdminArea } from '../admin/sections.ts'
import type { FormTarget } from '../pages/models.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'admin-user-deletion': UserDeletion
  }
}

interface UserDeletion {
  userId: string
  due: Date
  keep: FormTarget
}

const PATH = '/user/keep'
const PART = 'admin-user-deletion'

export async function addAdministration(fastify: FastifyInstance): Promise<void> {
  const { admin, oauth, pages } = fastify
  const { accountDeletions } = kernelOf(fastify)
  await pages.add(PART, new URL('../../templates/admin-user-deletion.eta', import.meta.url))
  const area: AdminArea = admin.addUserPart({
    name: 'deletion',
    part: PART,
    model: async ({ id: userId, deletesAt }, call): Promise<UserDeletion | null> =>
      deletesAt === null ? null : { userId, due: new Date(deletesAt), keep: area.target(call, PATH, userId) },
  })
  const Text = Type.Optional(Type.String())

  area.serve({
    path: `/admin${PATH}`,
    query: Type.Object({ id: Text }),
    form: Type.Object({ id: Text }),
    show: async ({ id = '' }, { reply }) => reply.redirect(area.userUri(id), 303),
    async submit({ id = '' }, call) {
      area.assertGenuine(call, PATH, id)
      const again = area.signInAgain(call, `${area.userUri(id)}&done=again`)
      if (again !== undefined) return again
      if ((await oauth.findUser(id)) === null) throw noSuchUser(area)
      // One that was cancelled already is as it was wanted.
      await accountDeletions.cancel(id)
      return call.reply.redirect(`${area.userUri(id)}&done=enabled`, 303)
    },
  })
}
