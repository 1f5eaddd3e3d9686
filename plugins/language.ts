/**
 * Decorates `fastify.language`: which language the pages of a browser are in. By what an app asked for (`ui_locales`, OpenID Connect Core
 * §3.1.2.1), which is remembered while the browser is open; then by what the person has chosen in their profile; then by the browser.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { BrowserCall } from '../src/doors/interaction.ts'
import type { User } from '../src/doors/user.ts'
import { kernelOf } from '../src/http/kernel-of.ts'
import { acceptedTags, lookUp, tagsIn } from '../src/protocol/language-tags.ts'
import { chosenBy, type Reader } from '../src/services/languages/languages.ts'

export interface PageLanguage {
  /** What an app asks for, with spaces between: it counts for the answer, and where that is a page for those that come after it. */
  ask(request: FastifyRequest, tags: unknown): void
  /** Whose page it is, where their sign-in lacks a factor still. */
  isFor(request: FastifyRequest, userId: string): void
  /** Who reads the answer: for mails that it causes, too. `isOwn` where it comes from an area of one's own. */
  reader(call: BrowserCall, isOwn?: boolean): Promise<Reader>
  /**
   * Who reads what goes to a user by mail. Whoever has chosen no language gets that of who caused it, where it is theirs: of the call, or
   * by the tags of its `reader`, with spaces between, where that is over.
   */
  readerOf(user: Pick<User, 'claims'>, cause?: BrowserCall | string): Promise<Reader>
}

declare module 'fastify' {
  interface FastifyInstance {
    language: PageLanguage
  }
}

const NOBODY: Reader = { tags: [], zone: null }

async function language(fastify: FastifyInstance): Promise<void> {
  const { oauth, browser, pages } = fastify
  const { languages } = kernelOf(fastify)
  const cookie = browser.cookie('ui-locales')
  const asked = new WeakMap<FastifyRequest, readonly string[]>()
  const people = new WeakMap<FastifyRequest, string>()

  async function personOf({ request }: BrowserCall): Promise<Pick<User, 'claims'> | null> {
    const id = people.get(request) ?? (await browser.session(request))?.userId
    return id === undefined ? null : oauth.findUser(id)
  }

  /** An area of one's own is in one's own language, whatever an app asked for before. */
  function readerOf({ request }: BrowserCall, person: Pick<User, 'claims'> | null, isOwn: boolean): Reader {
    const own = person === null ? NOBODY : chosenBy(person)
    const now = asked.get(request)
    const before = isOwn || now !== undefined ? [] : tagsIn(cookie.read(request) ?? '')
    const accepted = acceptedTags(request.headers['accept-language'] ?? '')
    return { tags: [...(now ?? before), ...own.tags, ...accepted], zone: own.zone }
  }

  function remember(call: BrowserCall): void {
    const tag = lookUp(asked.get(call.request) ?? [], languages.tags)
    if (tag !== undefined && cookie.read(call.request) !== tag) cookie.set(call, tag)
  }

  fastify.decorate('language', {
    ask(request, tags) {
      if (typeof tags === 'string') asked.set(request, tagsIn(tags))
    },
    isFor(request, userId) {
      people.set(request, userId)
    },
    reader: async (call, isOwn = false) => readerOf(call, await personOf(call), isOwn),
    async readerOf(user, cause) {
      const own = chosenBy(user)
      if (cause === undefined || own.tags.length > 0) return own
      return typeof cause === 'string' ? { ...own, tags: tagsIn(cause) } : readerOf(cause, user, false)
    },
  })
  pages.speak(async (call, { isOwn, isError }) => {
    remember(call)
    return readerOf(call, isError ? null : await personOf(call), isOwn)
  })
  oauth.extend('metadata', async () => ({ ui_locales_supported: [...languages.tags] }))
  fastify.addHook('onReady', async () => languages.assertSpoken())
}

export default fp(language, {
  name: 'latchkey-language',
  dependencies: ['latchkey-oauth', 'latchkey-pages', 'latchkey-browser'],
})
