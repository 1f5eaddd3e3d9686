/**
 * Pages behind a sign-in that must be of a moment ago where something is done that a browser which was left open must not
 * do. Who signs in once more comes back to what they had typed, as after a form that had expired: it travels in the address
 * to come back to, sealed for this user and this page, and nothing has to be stored for it.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Session } from '../../src/doors/interaction.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { compileParameters } from '../../src/protocol/parameters.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import { openText, sealText } from '../../src/services/keys/sealed-text.ts'
import { fitsReturn, FRESH, isFresh, signInAddress } from '../sign-in.ts'
import { typedAgain } from './expired-form.ts'
import type { FormPage, PageCall, ServePage, ShownPage } from './serve.ts'

export interface FreshForms {
  /** Serves a page: one that can show again what was typed (`again`) does so for who signed in once more in between. */
  readonly serve: ServePage
  /**
   * Undefined for who has signed in a moment ago. Others are led to do it once more, and come to `page`; nothing is done yet. What they
   * typed comes along where `page` is the one of the form and can show it, unless it is more than an address of ours holds.
   */
  signInAgain(call: PageCall, page: string): FastifyReply | undefined
}

/** Of the query. */
const TYPED = 'typed'
/** Milliseconds: longer than an interaction lasts. What stays in the history of a browser is not shown for ever. */
const LIFETIME = 7_200_000
/** Bytes of what was typed, as JSON: more than fits into an address, but for what repeats itself. */
const MOST = 65_536

export function createFreshForms(
  fastify: FastifyInstance,
  served: ServePage,
  sessionOf: (request: FastifyRequest) => Session,
): FreshForms {
  const { basePath } = fastify.oauth.config
  const { box } = kernelOf(fastify)
  /** Forms, by their requests, whose pages show again what was typed: the paths of these pages. */
  const shownAgain = new WeakMap<FastifyRequest, string>()
  const contextOf = (path: string, { userId }: Session): string => `typed ${userId} ${path}`

  function seal({ request, wire }: PageCall, path: string): string | null {
    const text = JSON.stringify({ until: Date.now() + LIFETIME, fields: typedAgain(wire) })
    if (Buffer.byteLength(text) > MOST) return null
    return sealText(box, text, contextOf(path, sessionOf(request)))
  }

  /** Null for what was not typed by this user into this page, or too long ago. */
  function open({ request, wire }: PageCall, path: string): Wire | null {
    try {
      const text = openText(box, String(wire[TYPED]), contextOf(path, sessionOf(request)), MOST)
      const { until, fields } = JSON.parse(text) as { until: number; fields: Wire }
      return until < Date.now() ? null : Object.assign(Object.create(null) as Wire, fields)
    } catch {
      return null
    }
  }

  function showingAgain({ submit, show, again, ...page }: FormPage): FormPage {
    if (again === undefined) return { submit, show, ...page }
    const path = `${basePath}${page.path}`
    const parse = compileParameters(page.form)
    return {
      ...page,
      again,
      async show(query, call) {
        const typed = call.wire[TYPED] === undefined ? null : open(call, path)
        return typed === null ? show(query, call) : again(parse(typed), { ...call, wire: typed })
      },
      async submit(form, call) {
        shownAgain.set(call.request, path)
        return submit(form, call)
      },
    }
  }

  return {
    serve: (page: ShownPage | FormPage) => served('submit' in page ? showingAgain(page) : page),
    signInAgain(call, page) {
      const { request, reply } = call
      if (isFresh(sessionOf(request))) return undefined
      const [path = '', query = ''] = page.split('?', 2)
      const typed = shownAgain.get(request) === path ? seal(call, path) : null
      const withTyped = `${path}?${query === '' ? '' : `${query}&`}${TYPED}=${typed}`
      const to = typed !== null && fitsReturn(withTyped) ? withTyped : page
      return reply.redirect(signInAddress(basePath, to, FRESH), 303)
    },
  }
}
