/** `/account`: where things stand, and the way to each. */
import { message, type Words } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { OwnArea } from './area.ts'
import type { AccountSection, OverviewNotice } from './sections.ts'

/** Apps and browsers are counted up to here. */
const MANY = 100

export function addOverview(
  { oauth, kernel, serve, uri, userOf }: OwnArea,
  sections: readonly AccountSection[],
  notices: readonly OverviewNotice[],
): void {
  serve({
    path: '/account',
    query: Type.Object({}),
    async show(_query, call) {
      const { id, username, claims } = await userOf(call)
      const sessions = (await oauth.sessions.list(id)).filter(({ pending }) => !pending)
      const apps = await kernel.consents.list(id, { limit: MANY + 1 })
      const email = claims['email'] as string | undefined
      return call.reply.page('account', {
        username,
        name: (claims['name'] as string | undefined) ?? null,
        notices: (
          await Promise.all(notices.map(async ({ part, model }) => ({ part, model: await model(call) })))
        ).filter((one): one is { part: string; model: object } => one.model !== null),
        parts: [
          {
            title: message('Profile'),
            href: uri('/profile'),
            text: message('What apps learn of you when you allow it.'),
          },
          {
            title: message('Email address'),
            href: uri('/email'),
            text: wordsOfAddress(email, claims['email_verified'] === true),
          },
          {
            title: message('Security'),
            href: uri('/security'),
            text: message('How you sign in, and what to do next.'),
          },
          {
            title: message('Sessions'),
            href: uri('/sessions'),
            text: wordsOfSessions(sessions.length),
          },
          { title: message('Apps'), href: uri('/apps'), text: wordsOfApps(apps.length) },
          {
            title: message('Activity'),
            href: uri('/activity'),
            text: message('What happened in the last 90 days.'),
          },
          ...(await Promise.all(
            sections.map(async ({ text: title, path, about }) => ({
              title,
              href: uri(path),
              text: await about(call),
            })),
          )),
        ],
      })
    },
  })
}

function wordsOfAddress(email: string | undefined, isConfirmed: boolean): Words {
  if (email === undefined) return message('None')
  return isConfirmed ? email : message('{email} (not confirmed)', { email })
}

function wordsOfSessions(count: number): Words {
  return count > MANY
    ? message('More than {count} browsers signed in', { count: MANY })
    : message(
        '{count, plural, =0 {No browsers signed in} one {# browser signed in} other {# browsers signed in}}',
        { count },
      )
}

function wordsOfApps(count: number): Words {
  return count > MANY
    ? message('More than {count} apps with access', { count: MANY })
    : message(
        '{count, plural, =0 {No apps with access} one {# app with access} other {# apps with access}}',
        {
          count,
        },
      )
}
