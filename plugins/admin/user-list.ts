/** `/admin/users`: the registered users, a page at a time in the order of their names, or those that a search finds. */
import { Type } from 'typebox'
import type { User } from '../../src/services/user.ts'
import type { Desk } from './desk.ts'

const PAGE = 50

export function addUserList({ oauth, serve, uri, userUri }: Desk): void {
  const toRow = ({ id, username, claims, roles, disabled }: User) => ({
    username,
    href: userUri(id),
    about: [claims['name'], claims['email']].filter((one) => typeof one === 'string').join(', '),
    roles: roles.join(' '),
    disabled,
  })

  serve({
    path: '/admin/users',
    query: Type.Object({ after: Type.Optional(Type.String()), search: Type.Optional(Type.String()) }),
    async show({ after = '', search = '' }, { reply }) {
      const begin = search.trim()
      const found = await (begin === ''
        ? oauth.users.list({ after, limit: PAGE + 1 })
        : oauth.users.search(begin, PAGE + 1))
      const users = found.slice(0, PAGE)
      const more = found.length > PAGE
      return reply.page('admin-users', {
        users: users.map(toRow),
        newUri: uri('/users/new'),
        searchUri: uri('/users'),
        search: begin,
        more: more && begin !== '',
        nextUri: more && begin === '' ? uri('/users', { after: users.at(-1)!.username }) : null,
        firstUri: after === '' && begin === '' ? null : uri('/users'),
      })
    },
  })
}
