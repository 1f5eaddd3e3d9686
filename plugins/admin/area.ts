/** What the pages of the administration share: their guarded addresses, and their forms. */
import type { FastifyInstance } from 'fastify'
import type { OAuth } from '../oauth/index.ts'
import type { ServePage } from '../pages/index.ts'
import type { AdminArea, Administrator, NewUserWay, UserPart } from './sections.ts'
import { createFreshForms } from '../pages/fresh-forms.ts'
import type { Guard } from './guard.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Kernel } from '../../src/services/kernel.ts'
import type { Listing } from '../../src/services/listings.ts'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import { servingNotThere } from './not-there.ts'
import { writtenCookie } from './own-writes.ts'

export interface OwnArea extends AdminArea {
  readonly oauth: OAuth
  readonly kernel: Kernel
  /** Where a page reads what it only shows; also what this browser's administrator has just written. */
  listing(call: BrowserCall): Promise<Listing>
  /** Of the page of a user, in their order. */
  readonly userParts: UserPart[]
  /** In the form for a new user, in their order. */
  readonly newUserWays: NewUserWay[]
}

export function createArea(fastify: FastifyInstance, guard: Guard, served: ServePage): OwnArea {
  const { oauth, browser } = fastify
  const kernel = kernelOf(fastify)
  const written = writtenCookie(fastify)
  const uri: OwnArea['uri'] = (path, query) =>
    `${oauth.config.basePath}/admin${path}${query === undefined ? '' : `?${new URLSearchParams(query).toString()}`}`
  const forms = createFreshForms(
    fastify,
    servingNotThere(served),
    (request) => guard.administratorOf(request).session,
  )
  const purposeOf = (path: string, subject: string, { session }: Administrator): string =>
    `admin ${session.sid} ${path} ${subject}`

  return {
    oauth,
    kernel,
    listing: async ({ request }) => kernel.listings.open(written.read(request)),
    userParts: [],
    newUserWays: [],
    ...forms,
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
  }
}
