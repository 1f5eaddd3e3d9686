/** `/account/data/delete`: a person asks for the deletion of their account; they are signed out, and told so on a page for everybody. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { isAbout, OAuthError } from '../../src/protocol/errors.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { AccountArea } from '../account/sections.ts'
import type { PageCall } from '../pages/index.ts'
import type { FormTarget } from '../pages/models.ts'
import { DATA, DELETE } from './data-page.ts'
import { graceOf, toSeconds } from './grace.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'account-delete': DeletePage
  }
}

interface DeletePage extends FormTarget {
  username: string
  /** Until it is done. */
  days: number
  dataUri: string
  error: Words | null
}

/** Below the issuer, for who is not signed in any more. */
const ASKED = '/account-deletion'
const LAST = message(
  'You are the last administrator who may sign in. Give somebody else the role admin first, and then delete your account.',
)

export async function addDeletion(fastify: FastifyInstance, area: AccountArea): Promise<void> {
  const { oauth, browser, pages } = fastify
  const { accountDeletions, config } = kernelOf(fastify)
  const days = graceOf(config)
  if (days === null) return
  await pages.add('account-delete', new URL('../../templates/account-delete.eta', import.meta.url))

  const show = async (call: PageCall, error: Words | null = null): Promise<FastifyReply> => {
    const { username } = await area.userOf(call)
    const model = { ...area.target(call, DELETE), username, days, dataUri: area.uri(DATA), error }
    return call.reply.page('account-delete', model, { status: error === null ? 200 : 400 })
  }

  area.serve({
    path: `/account${DELETE}`,
    query: Type.Object({}),
    form: Type.Object({}),
    show: async (_query, call) => show(call),
    async submit(_form, call) {
      const { userId } = area.assertGenuine(call, DELETE)
      const again = area.signInAgain(call, area.uri(DELETE))
      if (again !== undefined) return again
      try {
        await accountDeletions.request(userId, toSeconds(days))
      } catch (error) {
        if (!(error instanceof OAuthError)) throw error
        if (isAbout(error, 'roles')) return show(call, LAST)
        // The same form came first, as of a double click.
        if ((await oauth.users.get(userId)).deletesAt === null) throw error
      }
      browser.forget(call)
      return call.reply.redirect(`${oauth.config.basePath}${ASKED}`, 303)
    },
  })

  pages.serve({
    path: ASKED,
    query: Type.Object({}),
    show: async (_query, call) =>
      call.reply.page('page-message', {
        title: message('Your account will be deleted'),
        text: message(
          'You are signed out everywhere, and no app has access any more. In {days, plural, one {# day} other {# days}} all that is kept of you is deleted. If you change your mind, sign in before then and keep your account.',
          { days },
        ),
        primary: { href: `${oauth.config.basePath}/account`, text: message('Sign in and keep my account') },
      }),
  })
}
