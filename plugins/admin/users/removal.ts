/** What an administrator takes from a user on their page, one at a time, by a part of a plugin: a way to sign in, whose last one stays. */
import type { FastifyInstance } from 'fastify'
import { OAuthError } from '../../../src/protocol/errors.ts'
import type { Words } from '../../../src/protocol/message.ts'
import { Type } from '../../../src/protocol/schema.ts'
import type { PageCall } from '../../pages/index.ts'
import type { FormTarget } from '../../pages/models.ts'
import type { AdminArea } from '../sections.ts'

export interface Removal {
  /** Of the page that the form is sent to, below `/admin`. */
  readonly path: string
  /** The form's field with the id of what is taken, and the parameter by which the page of the user says what came of it. */
  readonly field: string
  /** The `id` of the part's heading. */
  readonly heading: string
  /** Throws `OAuthError` (`invalid_request`) for the last way in that the user has. What is gone already is as it was wanted. */
  remove(userId: string, id: string): Promise<unknown>
  readonly words: { readonly deleted: Words; readonly last: Words }
}

export interface Removing {
  target(call: PageCall, userId: string, id: string): FormTarget
  /** For the page; null where nothing was asked for. */
  doneOf(call: PageCall): Removed | null
}

/** What was done, or was not. */
export interface Removed {
  readonly kind: 'success' | 'alert'
  readonly text: Words
}

const Text = Type.Optional(Type.String())

export function serveRemoval({ oauth }: FastifyInstance, area: AdminArea, removal: Removal): Removing {
  const { path, field, heading, words } = removal
  const back = ({ reply }: PageCall, userId: string, done: string) =>
    reply.redirect(`${area.userUri(userId)}&${field}=${done}#${heading}`, 303)

  async function submit(userId: string, id: string, call: PageCall) {
    area.assertGenuine(call, path, subjectOf(userId, id))
    const again = area.signInAgain(call, `${area.userUri(userId)}&done=again`)
    if (again !== undefined) return again
    const user = await oauth.findUser(userId)
    if (user === null) throw new OAuthError('not_found', 'no user has this id', { status: 404 })
    try {
      await removal.remove(userId, id)
    } catch (error) {
      if (!(error instanceof OAuthError) || error.code !== 'invalid_request') throw error
      return back(call, userId, 'last')
    }
    return back(call, userId, 'deleted')
  }

  area.serve({
    path: `/admin${path}`,
    query: Type.Object({ id: Text }),
    form: Type.Object({ id: Text, [field]: Text }),
    show: async ({ id = '' }, { reply }) => reply.redirect(area.userUri(id), 303),
    submit: async ({ id: userId = '', [field]: id = '' }, call) => submit(userId, id, call),
  })

  return {
    target: (call, userId, id) => area.target(call, path, subjectOf(userId, id)),
    doneOf({ wire }) {
      const done = wire[field]
      if (done === 'deleted') return { kind: 'success', text: words.deleted }
      return done === 'last' ? { kind: 'alert', text: words.last } : null
    },
  }
}

function subjectOf(userId: string, id: string): string {
  return `${userId} ${id}`
}
