/** `/admin/roles`: the roles that somebody has or that are registered, by name, or those that a search finds. */
import { message } from '../../../src/protocol/message.ts'
import { createRoleLists, type CountedRole, type RoleLists } from '../../../src/services/users/role-lists.ts'
import type { OwnArea } from '../area.ts'
import { ListQuery, readList, type Listed } from '../searched-list.ts'
import { countOf, directoriesOf } from './role-words.ts'

export function addRoleList(area: OwnArea): void {
  const { kernel, uri } = area
  const listed = ({ list }: RoleLists): Listed<CountedRole> => ({
    path: '/roles',
    newPath: '/roles/new',
    list: async (after, limit) => list({ after, limit }),
    async search(search, { after, limit }) {
      const more = await list({ search, after: after.id, limit: limit + 1 })
      const found = more.slice(0, limit)
      const last = found.at(-1)?.name ?? ''
      return { found, next: more.length > limit ? { at: last, id: last } : null }
    },
    deleted: message('The role is deleted: nobody has it any more.'),
    nameOf: ({ name }) => name,
  })

  area.serve({
    path: '/admin/roles',
    query: ListQuery,
    async show(query, call) {
      const listing = await area.listing(call)
      const { found, page } = await readList(area, listed(createRoleLists(listing, kernel)), query)
      const roles = await Promise.all(
        found.map(async (role) => ({
          name: role.name,
          href: uri('/role', { name: role.name }),
          members: countOf(role),
          directories: await directoriesOf(area, role),
          isChanging: role.isChanging,
        })),
      )
      return call.reply.page('admin-roles', { ...page, roles, behind: listing.asOf() })
    },
  })
}
