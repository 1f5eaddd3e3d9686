/** Who may be on these pages: a hook that stands before every route of their scope, whatever the route is. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { message } from '../../src/protocol/message.ts'
import { ADMIN, type User } from '../../src/services/users/user.ts'
import { findPresent } from '../password/kept-elsewhere.ts'
import { ExplainedError } from '../pages/error-page.ts'
import { SignedOutForm } from '../pages/expired-form.ts'
import type { Administrator } from './sections.ts'
import { otherAccountAddress, signInAddress } from '../sign-in.ts'

export interface Guard {
  /**
   * For `onRequest`, and once more for the `preHandler` of a form: who sends slowly keeps it open for as long as a request may take. Sends
   * strangers to sign in, and refuses everybody who is no administrator.
   */
  admit(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined>
  /** Whom the hook let in; throws for a request that it has not seen. */
  administratorOf(request: FastifyRequest): Administrator
}

const isAdministrator = (user: User): boolean => !user.disabled && user.roles.includes(ADMIN)

export function createGuard(fastify: FastifyInstance): Guard {
  const { oauth, browser, pages } = fastify
  const { directory } = kernelOf(fastify)
  const admitted = new WeakMap<FastifyRequest, Administrator>()
  const { basePath } = oauth.config

  /** Says as whom they came, and where they can go on. */
  function notForThem({ method, url }: FastifyRequest, user: User | null): ExplainedError {
    const start = pages.places.start()
    const page = method === 'GET' || method === 'HEAD' ? url : `${basePath}/admin`
    return new ExplainedError('access_denied', 'these pages are for administrators', {
      words: {
        title: message('This page is for administrators'),
        text: message('This account is not an administrator’s.'),
      },
      who: user?.username ?? null,
      ways: [
        { uri: otherAccountAddress(basePath, page), text: message('Sign in as somebody else') },
        ...(start === null ? [] : [{ uri: start, text: message('Go to the start page') }]),
      ],
    })
  }

  return {
    async admit(request, reply) {
      const session = await browser.sessionNow(request)
      if (session === null) {
        if (request.method === 'GET' || request.method === 'HEAD')
          return reply.redirect(signInAddress(basePath, request.url), 303)
        throw new SignedOutForm(signInAddress(basePath, request.url))
      }
      const known = await findPresent(oauth, session.userId)
      // Another process may have made them one a moment ago.
      const isKnown = known === null || isAdministrator(known)
      const user = isKnown ? known : await directory.reloadUser(known.id)
      if (user === null || !isAdministrator(user)) throw notForThem(request, user)
      admitted.set(request, { user, session })
      return undefined
    },
    administratorOf(request) {
      const administrator = admitted.get(request)
      if (administrator === undefined)
        throw new Error('a page of administrators stands outside of their guard')
      return administrator
    },
  }
}
