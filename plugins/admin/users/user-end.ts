/** `/admin/user/delete`: forgets a user for good, once their name was typed. */
import { message } from '../../../src/protocol/message.ts'
import { Type } from '../../../src/protocol/schema.ts'
import type { OwnArea } from '../area.ts'
import { LAST } from './user-actions.ts'
import { attempt } from './user-form.ts'
import { getUser, showUser, signInFor } from './user-page.ts'

const PATH = '/user/delete'
const Fields = Type.Object({
  id: Type.Optional(Type.String()),
  confirm_username: Type.Optional(Type.String()),
})

export function addUserEnd(area: OwnArea): void {
  const { oauth, serve, uri, userUri } = area

  serve({
    path: `/admin${PATH}`,
    query: Fields,
    form: Fields,
    show: async ({ id = '' }, { reply }) => reply.redirect(userUri(id), 303),
    async submit({ id = '', confirm_username: typed = '' }, call) {
      area.assertGenuine(call, PATH, id)
      const user = await getUser(area, id)
      const again = signInFor(area, call, id)
      if (again !== undefined) return again
      if (typed.trim() !== user.username) {
        const deletion = { error: message('This is not the user name of this user.'), typed }
        return showUser(area, call, user, { deletion })
      }
      const result = await attempt(async () => ({ deleted: await oauth.users.delete(user) }))
      return 'errors' in result
        ? showUser(area, call, user, { refused: LAST })
        : call.reply.redirect(uri('/users', { removed: 'yes' }), 303)
    },
  })
}
