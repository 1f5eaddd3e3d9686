/** What the pages of a user's own account share: their guarded addresses, and forms that their user alone can send. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Session } from '../../src/doors/interaction.ts'
import type { Browser } from '../browser.ts'
import type { OAuth } from '../oauth.ts'
import { SignedOutForm } from '../pages/expired-form.ts'
import type { ServePage } from '../pages/index.ts'
import type { AccountArea } from './sections.ts'
import { FRESH, isFresh, signInAddress } from '../sign-in.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Kernel } from '../../src/services/kernel.ts'

export interface Guard {
  /** For `onRequest`. Sends strangers to sign in; a form of theirs is refused. */
  admit(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined>
  /** Whom the hook let in; throws for a request that it has not seen. */
  sessionOf(request: FastifyRequest): Session
}

export interface OwnArea extends AccountArea {
  readonly oauth: OAuth
  readonly kernel: Kernel
  readonly browser: Browser
}

export function createGuard({ oauth, browser }: FastifyInstance): Guard {
  const admitted = new WeakMap<FastifyRequest, Session>()

  return {
    async admit(request, reply) {
      const session = await browser.session(request)
      if (session !== null) {
        admitted.set(request, session)
        return undefined
      }
      if (request.method === 'GET' || request.method === 'HEAD')
        return reply.redirect(signInAddress(oauth.config.basePath, request.url), 303)
      throw new SignedOutForm(signInAddress(oauth.config.basePath, request.url))
    },
    sessionOf(request) {
      const session = admitted.get(request)
      if (session === undefined) throw new Error('a page of an account stands outside of its guard')
      return session
    },
  }
}

export function createArea(fastify: FastifyInstance, { sessionOf }: Guard, serve: ServePage): OwnArea {
  const { oauth, browser } = fastify
  const uri: OwnArea['uri'] = (path, query) =>
    `${oauth.config.basePath}/account${path}${query === undefined ? '' : `?${new URLSearchParams(query).toString()}`}`
  const purposeOf = (path: string, subject: string, { sid }: Session): string =>
    `account ${sid} ${path} ${subject}`

  return {
    oauth,
    kernel: kernelOf(fastify),
    browser,
    serve,
    sessionOf,
    userOf: async ({ request }) => oauth.users.get(sessionOf(request).userId),
    uri,
    target(call, path, subject = '') {
      const purpose = purposeOf(path, subject, sessionOf(call.request))
      return { action: uri(path), csrfToken: browser.csrfToken(call, purpose) }
    },
    assertGenuine(call, path, subject = '') {
      const session = sessionOf(call.request)
      browser.assertGenuine(call, call.wire, purposeOf(path, subject, session))
      return session
    },
    signInAgain: ({ request, reply }, page) =>
      isFresh(sessionOf(request))
        ? undefined
        : reply.redirect(signInAddress(oauth.config.basePath, page, FRESH), 303),
  }
}
