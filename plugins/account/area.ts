/** What the pages of a user's own account share: their guarded addresses, and forms that their user alone can send. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { BrowserCall, Session } from '../../src/doors/interaction.ts'
import { STEPS } from '../browser/index.ts'
import type { OAuth } from '../oauth/index.ts'
import { SignedOutForm } from '../pages/expired-form.ts'
import type { PageCall, ServePage } from '../pages/index.ts'
import type { AccountArea } from './sections.ts'
import { createFreshForms } from '../pages/fresh-forms.ts'
import { signInAddress } from '../sign-in.ts'
import { lookAgain } from '../../src/http/look-again.ts'
import { parseForm } from '../../src/protocol/wire.ts'
import { formText } from '../../src/http/forms.ts'
import { refusing } from '../../src/http/methods.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Kernel } from '../../src/services/kernel.ts'

export interface Guard {
  /** For `onRequest`. Sends strangers to sign in; what they send as a form is left to `admitForm`. */
  admit(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined>
  /**
   * For `preHandler`, behind the body. Refuses the forms of strangers, and of who has been signed out while it came. Who sends a form twice, as by a double click, comes with the cookie of before where
   * their session went on under another one by it: they are given that.
   */
  admitForm(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /** Whether it is a form that came before: by the same one, the session of this request went on. */
  isRepeated(request: FastifyRequest): boolean
  /** Whom the hook let in; throws for a request that it has not seen. */
  sessionOf(request: FastifyRequest): Session
}

export interface OwnArea extends AccountArea {
  readonly oauth: OAuth
  readonly kernel: Kernel
  readonly browser: FastifyInstance['browser']
  /** Whether it is a form that came before: by the same one, the session of this request went on. */
  isRepeated(call: PageCall): boolean
}

/** How often a form that is sent twice looks whether the session of the first has gone on: for half a second. */
const LOOKS = 10

export function createGuard({ oauth, browser }: FastifyInstance): Guard {
  const admitted = new WeakMap<FastifyRequest, Session>()
  const repeated = new WeakSet<FastifyRequest>()
  const signedOut = ({ url }: FastifyRequest): SignedOutForm =>
    new SignedOutForm(signInAddress(oauth.config.basePath, url))

  /**
   * The session that this very form led to when it came first; null where there is none. One that lacks what the first form has just set up
   * is about to go on with it: a moment is given to that.
   */
  async function adopted(call: BrowserCall): Promise<Session | null> {
    const form = parseForm(formText(call.request))
    // One that no page of ours made leads nowhere, however long it waits.
    const looks = form['csrf_token'] === undefined ? 1 : LOOKS
    const found = await lookAgain(looks, async () => {
      const risen = await browser[STEPS].adopt(call, form)
      const session = risen && (await browser.session(call.request))
      const lacks = session === null && (await browser[STEPS].unfinished(call.request)) !== null
      return lacks ? undefined : session
    })
    return found ?? null
  }

  return {
    async admit(request, reply) {
      const session = await browser.session(request)
      if (session !== null) {
        admitted.set(request, session)
        return undefined
      }
      if (request.method === 'GET' || request.method === 'HEAD')
        return reply.redirect(signInAddress(oauth.config.basePath, request.url), 303)
      if (refusing in request.routeOptions.config) throw signedOut(request)
      return undefined
    },
    async admitForm(request, reply) {
      const before = admitted.get(request)
      // A page has no body that could have taken its time.
      const still =
        before === undefined || request.body === undefined ? before : await browser.sessionNow(request)
      if (still != null) {
        admitted.set(request, still)
        return
      }
      const call = { request, reply }
      browser.assertFromHere(call)
      const session = await adopted(call)
      if (session === null) throw signedOut(request)
      admitted.set(request, session)
      repeated.add(request)
    },
    isRepeated: (request) => repeated.has(request),
    sessionOf(request) {
      const session = admitted.get(request)
      if (session === undefined) throw new Error('a page of an account stands outside of its guard')
      return session
    },
  }
}

export function createArea(
  fastify: FastifyInstance,
  { sessionOf, isRepeated }: Guard,
  served: ServePage,
): OwnArea {
  const { oauth, browser } = fastify
  const uri: OwnArea['uri'] = (path, query, part) => {
    const search = query === undefined ? '' : `?${new URLSearchParams(query).toString()}`
    return `${oauth.config.basePath}/account${path}${search}${part === undefined ? '' : `#${part}`}`
  }
  const purposeOf = (path: string, subject: string, { sid }: Session): string =>
    `account ${sid} ${path} ${subject}`

  return {
    oauth,
    kernel: kernelOf(fastify),
    browser,
    ...createFreshForms(fastify, served, sessionOf),
    sessionOf,
    isRepeated: ({ request }) => isRepeated(request),
    userOf: async ({ request }) => oauth.users.get(sessionOf(request).userId),
    uri,
    target(call, path, subject = '') {
      const purpose = purposeOf(path, subject, sessionOf(call.request))
      return { action: uri(path), csrfToken: browser.csrfToken(call, purpose) }
    },
    assertGenuine(call, path, subject = '') {
      const session = sessionOf(call.request)
      // One that came before was shown in the session of before.
      if (!isRepeated(call.request)) browser.assertGenuine(call, call.wire, purposeOf(path, subject, session))
      return session
    },
  }
}
