/** `/admin/users`: the registered users in the order of their names, or those that a search finds. */
import { message } from '../../../src/protocol/message.ts'
import { createUserLists, type UserLists } from '../../../src/services/users/user-finder.ts'
import type { User } from '../../../src/services/users/user.ts'
import type { OwnArea } from '../area.ts'
import { ListQuery, readList, type Listed } from '../searched-list.ts'

export function addUserList(area: OwnArea): void {
  const listed = ({ list, search }: UserLists): Listed<User> => ({
    path: '/users',
    newPath: '/users/new',
    list: async (after, limit) => list({ after, limit }),
    search,
    deleted: message('The user is deleted.'),
    nameOf: ({ username }) => username,
  })
  const toRow = ({ id, username, claims, roles, disabled }: User) => ({
    username,
    href: area.userUri(id),
    about: [claims['name'], claims['email']].filter((one) => typeof one === 'string').join(', '),
    roles: roles.join(' '),
    disabled,
  })

  area.serve({
    path: '/admin/users',
    query: ListQuery,
    async show(query, call) {
      const listing = await area.listing(call)
      const { found, page } = await readList(area, listed(createUserLists(listing)), query)
      return call.reply.page('admin-users', { ...page, users: found.map(toRow), behind: listing.asOf() })
    },
  })
}
