/** What an administrator does to a role: gives it to somebody, takes it from them, renames and deletes it. Each asks for a sign-in of a moment ago. */
import type { FastifyReply } from 'fastify'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { message, type Words } from '../../../src/protocol/message.ts'
import { Type } from '../../../src/protocol/schema.ts'
import type { CountedRole } from '../../../src/services/users/role-lists.ts'
import { ADMIN } from '../../../src/services/users/user.ts'
import type { PageCall } from '../../pages/index.ts'
import type { OwnArea } from '../area.ts'
import { LAST } from '../users/user-actions.ts'
import { getRole, PATH, refusalOf, showRole, type Shown } from './role-page.ts'

interface Action {
  readonly path: `/${string}`
  /** The form's field with what was typed, or with the user whom it is about. */
  readonly field: 'user' | 'id' | 'to' | 'confirm'
  /** Where it leads; or what the page says where it was refused. */
  work(role: CountedRole, value: string, call: PageCall): Promise<string | Shown>
}

const NOBODY = message('There is no such user.')
const NOT_ITS_NAME = message('This is not the name of this role.')
const OWN = message('This is your own account: take admin from it on its own page.')

export function addRoleActions(area: OwnArea): void {
  const { kernel, uri } = area
  const { users, roles } = kernel
  const pageOf = (name: string, done: string): string => uri(PATH, { name, done })

  /** The same as `refusalOf`; undefined where it goes on by itself, since many have the role, whose page says so. */
  async function orGoesOn(work: Promise<unknown>, name: string): Promise<Words | null | undefined> {
    try {
      return await refusalOf(work)
    } catch (error) {
      if (!(error instanceof OAuthError) || error.status !== 503) throw error
      if ((await roles.find(name))?.isChanging !== true) throw error
      return undefined
    }
  }

  const actions: readonly Action[] = [
    {
      path: '/add',
      field: 'user',
      async work({ name }, typed) {
        const text = typed.trim()
        const user = (await users.find(text)) ?? (await users.findByEmail(text))
        const error = user === null ? NOBODY : await refusalOf(roles.give(name, user.id))
        return error === null ? pageOf(name, 'added') : { add: { error, typed } }
      },
    },
    {
      path: '/remove',
      field: 'id',
      async work({ name }, id, { request }) {
        if (name === ADMIN && area.administratorOf(request).user.id === id) return { refused: OWN }
        const refused = await refusalOf(roles.take(name, id))
        if (refused === null)
          // With the last who had it, one that is not registered is gone.
          return (await roles.find(name)) === null
            ? uri('/roles', { removed: 'yes' })
            : pageOf(name, 'removed')
        return { refused: name === ADMIN ? LAST : refused }
      },
    },
    {
      path: '/rename',
      field: 'to',
      async work({ name }, typed) {
        const to = typed.trim().normalize('NFC')
        const error = await orGoesOn(roles.rename(name, to), to)
        if (error === undefined) return uri(PATH, { name: to })
        return error === null ? pageOf(to, 'renamed') : { rename: { error, typed } }
      },
    },
    {
      path: '/delete',
      field: 'confirm',
      async work({ name }, typed) {
        if (typed.trim().normalize('NFC') !== name.normalize('NFC'))
          return { deletion: { error: NOT_ITS_NAME, typed } }
        const error = await orGoesOn(roles.delete(name), name)
        if (error === undefined) return uri(PATH, { name })
        return error === null ? uri('/roles', { removed: 'yes' }) : { deletion: { error, typed } }
      },
    },
  ]
  for (const action of actions) addAction(area, action)
}

function addAction(area: OwnArea, { path, field, work }: Action): void {
  const { serve, uri } = area
  const Text = Type.Optional(Type.String())

  async function submit(name: string, value: string, call: PageCall): Promise<FastifyReply> {
    area.assertGenuine(call, `${PATH}${path}`, field === 'id' ? `${name} ${value}` : name)
    const role = await getRole(area, name)
    const again = area.signInAgain(call, uri(PATH, { name, done: 'again' }))
    if (again !== undefined) return again
    const done = await work(role, value, call)
    if (typeof done === 'string') return call.reply.redirect(done, 303)
    return showRole(area, call, await getRole(area, name), done)
  }

  serve({
    path: `/admin${PATH}${path}`,
    query: Type.Object({ name: Text }),
    form: Type.Object({ name: Text, [field]: Text }),
    show: async ({ name = '' }, { reply }) => reply.redirect(uri(PATH, { name }), 303),
    submit: async ({ name = '', [field]: value = '' }, call) => submit(name, value, call),
  })
}
