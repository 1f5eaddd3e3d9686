/** `/account/sessions`: the browsers in which a user is signed in, and signing them out. */
import { message, type Words } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { SessionInformation } from '../../src/services/users/sessions.ts'
import type { PageCall } from '../pages/index.ts'
import { describeUserAgent } from '../pages/user-agent.ts'
import type { OwnArea } from './area.ts'

const PATH = '/sessions'
const END = '/sessions/end'
const END_OTHERS = '/sessions/end-others'
const DONE: Readonly<Record<string, Words>> = {
  one: message('That browser is signed out.'),
  others: message('Every other browser is signed out.'),
}
const Fields = Type.Object({ sid: Type.Optional(Type.String()) })

export function addSessions(area: OwnArea): void {
  const { oauth, browser, serve, uri, sessionOf, userOf } = area

  function toView(
    call: PageCall,
    { sid, userAgent, address, createdAt, lastSeenAt, pending }: SessionInformation,
  ) {
    const isThis = sid === sessionOf(call.request).sid
    return {
      title: describeUserAgent(userAgent),
      address,
      since: new Date(createdAt),
      lastSeen: new Date(lastSeenAt),
      pending,
      end: isThis ? null : { ...area.target(call, END, sid), sid },
    }
  }

  serve({
    path: `/account${PATH}`,
    query: Type.Object({ done: Type.Optional(Type.String()) }),
    async show({ done = '' }, call) {
      const all = await oauth.sessions.list(sessionOf(call.request).userId)
      const sessions = all.map((one) => toView(call, one))
      return call.reply.page('account-sessions', {
        sessions: sessions.toSorted((a, b) => Number(a.end !== null) - Number(b.end !== null)),
        endOthers: sessions.some(({ end }) => end !== null) ? area.target(call, END_OTHERS) : null,
        done: Object.hasOwn(DONE, done) ? DONE[done]! : null,
      })
    },
  })
  serve({
    path: `/account${END}`,
    query: Type.Object({}),
    form: Fields,
    show: async (_query, { reply }) => reply.redirect(uri(PATH), 303),
    async submit({ sid = '' }, call) {
      const { userId } = area.assertGenuine(call, END, sid)
      // One that has ended meanwhile is what was wanted.
      await oauth.sessions.endOne(userId, sid)
      browser.remember(call, await userOf(call))
      return call.reply.redirect(uri(PATH, { done: 'one' }), 303)
    },
  })
  serve({
    path: `/account${END_OTHERS}`,
    query: Type.Object({}),
    form: Type.Object({}),
    show: async (_query, { reply }) => reply.redirect(uri(PATH), 303),
    async submit(_form, call) {
      const { userId, sid } = area.assertGenuine(call, END_OTHERS)
      await oauth.sessions.endAll(userId, { except: sid })
      browser.remember(call, await userOf(call))
      return call.reply.redirect(uri(PATH, { done: 'others' }), 303)
    },
  })
}
