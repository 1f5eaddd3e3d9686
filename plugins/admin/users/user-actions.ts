/** What an administrator does to a user by one button each: disable, enable, end sessions, revoke. */
import { message, type Words } from '../../../src/protocol/message.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { ADMIN, type User } from '../../../src/services/users/user.ts'
import type { OwnArea } from '../area.ts'
import { attempt } from './user-form.ts'
import { subjectOf } from './user-holdings.ts'
import { getUser, showUser, signInFor } from './user-page.ts'

export const LAST = message(
  'This is the last administrator who may sign in: nobody could come here any more. Give somebody else the role admin first.',
)

interface Action {
  readonly path: string
  /** Which of the user's things it is about; the form's field for it. */
  readonly thing?: 'sid' | 'authorization'
  /** Whether it asks for a sign-in of a moment ago. */
  readonly grave?: true
  /** What the user's page says afterwards. */
  readonly done: string
  /** Returns why it was refused. */
  work(user: User, thing: string): Promise<Words | undefined>
}

export function addUserActions(area: OwnArea): void {
  const { users, sessions, authorizations } = area.oauth
  const actions: readonly Action[] = [
    {
      path: '/user/disable',
      grave: true,
      done: 'disabled',
      async work(user) {
        const result = await attempt(async () => users.disable(user, { keepOneWith: ADMIN }))
        return 'errors' in result ? LAST : undefined
      },
    },
    {
      path: '/user/enable',
      grave: true,
      done: 'enabled',
      work: quietly(async (user) => users.enable(user)),
    },
    {
      path: '/user/reset-factors',
      grave: true,
      done: 'factors',
      work: quietly(async ({ id }) => users.resetFactors(id)),
    },
    { path: '/user/revoke-tokens', done: 'tokens', work: quietly(async (user) => users.revokeTokens(user)) },
    { path: '/user/end-sessions', done: 'sessions', work: quietly(async ({ id }) => sessions.endAll(id)) },
    // What has ended meanwhile is as it was wanted.
    {
      path: '/user/end-session',
      thing: 'sid',
      done: 'session',
      work: quietly(async ({ id }, sid) => sessions.endOne(id, sid)),
    },
    {
      path: '/user/revoke',
      thing: 'authorization',
      done: 'revoked',
      work: quietly(async (_user, id) => authorizations.revoke(id)),
    },
  ]
  for (const action of actions) addAction(area, action)
}

function addAction(area: OwnArea, { path, thing, grave, done, work }: Action): void {
  const Text = Type.Optional(Type.String())
  area.serve({
    path: `/admin${path}` as const,
    query: Type.Object({ id: Text }),
    form: Type.Object({ id: Text, sid: Text, authorization: Text }),
    show: async ({ id = '' }, { reply }) => reply.redirect(area.userUri(id), 303),
    async submit({ id = '', ...things }, call) {
      const which = thing === undefined ? '' : (things[thing] ?? '')
      area.assertGenuine(call, path, thing === undefined ? id : subjectOf(id, which))
      const user = await getUser(area, id)
      const again = grave ? signInFor(area, call, id) : undefined
      if (again !== undefined) return again
      const refused = await work(user, which)
      return refused === undefined
        ? call.reply.redirect(`${area.userUri(id)}&done=${done}`, 303)
        : showUser(area, call, user, { refused })
    },
  })
}

/** Whatever it returns, it was not refused. */
function quietly(work: (user: User, thing: string) => Promise<unknown>): Action['work'] {
  return async (user, thing) => {
    await work(user, thing)
    return undefined
  }
}
