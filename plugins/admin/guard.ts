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

  async function findUser(id: string): Promise<User | null> {
    const known = await findPresent(oauth, id)
    // Memory may be behind: another process may just have given them the role.
    return known === null || isAdministrator(known) ? known : directory.reloadUser(known.id)
  }

  function toSignIn({ method, url }: FastifyRequest, reply: FastifyReply): FastifyReply {
    const address = signInAddress(basePath, url)
    if (method === 'GET' || method === 'HEAD') return reply.redirect(address, 303)
    throw new SignedOutForm(address)
  }

  return {
    async admit(request, reply) {
      const found = await browser.sessionNow(request)
      if (found === null) return toSignIn(request, reply)
      const user = await findUser(found.userId)
      if (user === null || !isAdministrator(user)) throw notForThem(request, user)
      // Once more, with the roles of now: they may demand a second factor.
      const session = await browser.session(request)
      if (session === null) return toSignIn(request, reply)
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
