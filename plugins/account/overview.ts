/** `/account`: where things stand, and the way to each. */
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
      const confirmed = claims['email_verified'] === true ? '' : ' (not confirmed)'
      return call.reply.page('account', {
        username,
        name: (claims['name'] as string | undefined) ?? null,
        notices: (
          await Promise.all(notices.map(async ({ part, model }) => ({ part, model: await model(call) })))
        ).filter((one): one is { part: string; model: object } => one.model !== null),
        parts: [
          { title: 'Profile', href: uri('/profile'), text: 'What apps learn of you when you allow it.' },
          {
            title: 'Email address',
            href: uri('/email'),
            text: email === undefined ? 'None' : `${email}${confirmed}`,
          },
          { title: 'Security', href: uri('/security'), text: 'How you sign in, and what to do next.' },
          {
            title: 'Sessions',
            href: uri('/sessions'),
            text: counted(sessions.length, 'browser', 'signed in'),
          },
          { title: 'Apps', href: uri('/apps'), text: counted(apps.length, 'app', 'with access') },
          { title: 'Activity', href: uri('/activity'), text: 'What happened in the last 90 days.' },
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

function counted(count: number, what: string, more: string): string {
  const many = count > MANY ? `More than ${MANY}` : count === 0 ? 'No' : String(count)
  return `${many} ${what}${count === 1 ? '' : 's'} ${more}`
}
