/** What the pages of the administration share: their guarded addresses, and their forms. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { OAuth } from '../oauth.ts'
import type { FormTarget } from '../pages/models.ts'
import type { PageCall, ServePage } from '../pages/index.ts'
import { FRESH, isFresh, signInAddress } from '../sign-in.ts'
import type { Administrator, Guard } from './guard.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Kernel } from '../../src/services/kernel.ts'

export interface Desk {
  readonly oauth: OAuth
  readonly kernel: Kernel
  readonly serve: ServePage
  readonly administratorOf: Guard['administratorOf']
  /** The address of a page, `path` being below `/admin`. */
  uri(path: string, query?: Readonly<Record<string, string>>): string
  /** The page of a user. */
  userUri(id: string): string
  /** A form that is sent to `path`, and is about `subject` alone, in this administrator's session. */
  target(call: PageCall, path: string, subject: string): FormTarget
  /** Begins every submit: throws unless the form is one that `target` made for the same. */
  assertGenuine(call: PageCall, path: string, subject: string): Administrator
  /**
   * Before what a browser that was left open must not do: undefined for who has signed in a moment ago. Others sign in
   * once more, come to `page`, and ask again; nothing is done yet.
   */
  signInAgain(call: PageCall, page: string): FastifyReply | undefined
}

export function createDesk(fastify: FastifyInstance, guard: Guard, serve: ServePage): Desk {
  const { oauth, browser } = fastify
  const uri: Desk['uri'] = (path, query) =>
    `${oauth.config.basePath}/admin${path}${query === undefined ? '' : `?${new URLSearchParams(query).toString()}`}`
  const purposeOf = (path: string, subject: string, { session }: Administrator): string =>
    `admin ${session.sid} ${path} ${subject}`

  return {
    oauth,
    kernel: kernelOf(fastify),
    serve,
    administratorOf: guard.administratorOf,
    uri,
    userUri: (id) => uri('/user', { id }),
    target(call, path, subject) {
      const purpose = purposeOf(path, subject, guard.administratorOf(call.request))
      return { action: uri(path), csrfToken: browser.csrfToken(call, purpose) }
    },
    assertGenuine(call, path, subject) {
      const administrator = guard.administratorOf(call.request)
      browser.assertGenuine(call, call.wire, purposeOf(path, subject, administrator))
      return administrator
    },
    signInAgain: ({ request, reply }, page) =>
      isFresh(guard.administratorOf(request).session)
        ? undefined
        : reply.redirect(signInAddress(oauth.config.basePath, page, FRESH), 303),
  }
}
