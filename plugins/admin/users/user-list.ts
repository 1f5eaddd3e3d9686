/** `/admin/users`: the registered users, a page at a time in the order of their names, or those that a search finds. */
import { Type } from 'typebox'
import type { User } from '../../../src/services/users/user.ts'
import type { Place } from '../../../src/store/begins-with.ts'
import type { Desk } from '../desk.ts'

const PAGE = 50
const PATH = '/users'
const Text = () => Type.Optional(Type.String())

interface Listed {
  users: readonly User[]
  /** What the address of the next page asks for; null at the end. */
  next: Record<string, string> | null
}

export function addUserList({ oauth, serve, uri, userUri }: Desk): void {
  const toRow = ({ id, username, claims, roles, disabled }: User) => ({
    username,
    href: userUri(id),
    about: [claims['name'], claims['email']].filter((one) => typeof one === 'string').join(', '),
    roles: roles.join(' '),
    disabled,
  })

  async function list(after = ''): Promise<Listed> {
    const found = await oauth.users.list({ after, limit: PAGE + 1 })
    const users = found.slice(0, PAGE)
    return { users, next: found.length > PAGE ? { after: users.at(-1)!.username } : null }
  }

  async function find(search: string, after: Place): Promise<Listed> {
    const { found, next } = await oauth.users.search(search, { after, limit: PAGE })
    return { users: found, next: next && { search, at: next.at, after: next.id } }
  }

  serve({
    path: `/admin${PATH}`,
    query: Type.Object({ search: Text(), at: Text(), after: Text() }),
    async show({ search: typed = '', at = '', after }, { reply }) {
      const search = typed.trim()
      const { users, next } = await (search === '' ? list(after) : find(search, { at, id: after ?? '' }))
      return reply.page('admin-users', {
        users: users.map(toRow),
        newUri: uri('/users/new'),
        searchUri: uri(PATH),
        search,
        nextUri: next && uri(PATH, next),
        firstUri: after === undefined ? null : uri(PATH, search === '' ? undefined : { search }),
        allUri: search === '' ? null : uri(PATH),
      })
    },
  })
}
