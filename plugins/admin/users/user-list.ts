/** `/admin/users`: the registered users in the order of their names, or those that a search finds. */
import type { User } from '../../../src/services/users/user.ts'
import type { OwnArea } from '../area.ts'
import { ListQuery, readList, type Listed } from '../searched-list.ts'

export function addUserList(area: OwnArea): void {
  const { users } = area.oauth
  const listed: Listed<User> = {
    path: '/users',
    newPath: '/users/new',
    list: async (after, limit) => users.list({ after, limit }),
    search: async (text, options) => users.search(text, options),
    nameOf: ({ username }) => username,
  }
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
    async show(query, { reply }) {
      const { found, page } = await readList(area, listed, query)
      return reply.page('admin-users', { ...page, users: found.map(toRow) })
    },
  })
}
