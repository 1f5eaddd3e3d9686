/** `/account/security`: how its user signs in, part by part, and what to do next. The password is the first part; plugins add theirs. */
import { ConfigError } from '../../src/config.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { message } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import { keptElsewhere } from '../password/kept-elsewhere.ts'
import type { PageCall } from '../pages/index.ts'
import type { OwnArea } from './area.ts'
import type { SecurityPassword } from './models.ts'
import type { NextStep, SecurityPart } from './sections.ts'

const PATH = '/security'
const REMOVE = '/password/remove'
/** The id of its heading. */
const PART = 'security-password'
const DONE: Readonly<Record<string, SecurityPassword['done']>> = {
  removed: {
    kind: 'success',
    text: message('Your password is removed. From now on you sign in without one.'),
  },
  last: {
    kind: 'alert',
    text: message(
      'Your password is the only way by which you can sign in. Add another one first, and then remove it.',
    ),
  },
}

/** Serves the page; what it returns adds a part. Throws `ConfigError` for a name that is taken. */
export function addSecurity(area: OwnArea): (part: SecurityPart) => void {
  const { oauth, serve, uri, userOf } = area
  const parts: SecurityPart[] = []

  function add(part: SecurityPart): void {
    if (parts.some(({ name }) => name === part.name))
      throw new ConfigError(`The part ${part.name} of the page of security is taken.`)
    parts.push(part)
  }

  async function nextStep(call: PageCall): Promise<NextStep | null> {
    for (const part of parts) {
      const step = (await part.nextStep?.(call)) ?? null
      if (step !== null) return step
    }
    return null
  }

  add({
    name: 'password',
    part: 'account-security-password',
    async model(call) {
      const { id, username } = await userOf(call)
      const hasPassword = await oauth.users.canSignInByPassword(username)
      const others = (await oauth.users.waysIn(id)).filter((way) => way !== 'password')
      const { password: done = '' } = call.wire
      return {
        hasPassword,
        changeUri: uri('/password'),
        kept: await keptElsewhere(oauth, id),
        remove: hasPassword && others.length > 0 ? area.target(call, REMOVE) : null,
        done: typeof done === 'string' && Object.hasOwn(DONE, done) ? DONE[done]! : null,
      }
    },
  })
  serve({
    path: `/account${REMOVE}`,
    query: Type.Object({}),
    form: Type.Object({}),
    show: async (_query, { reply }) => reply.redirect(uri(PATH), 303),
    async submit(_form, call) {
      const { userId } = area.assertGenuine(call, REMOVE)
      const again = area.signInAgain(call, uri(PATH))
      if (again !== undefined) return again
      try {
        await oauth.users.removePassword(userId)
      } catch (error) {
        if (!(error instanceof OAuthError) || error.code !== 'invalid_request') throw error
        return call.reply.redirect(uri(PATH, { password: 'last' }, PART), 303)
      }
      return call.reply.redirect(uri(PATH, { password: 'removed' }, PART), 303)
    },
  })
  serve({
    path: `/account${PATH}`,
    query: Type.Object({}),
    async show(_query, call) {
      const shown = parts.map(async ({ part, model }) => ({ part, model: await model(call) }))
      return call.reply.page('account-security', {
        parts: await Promise.all(shown),
        nextStep: await nextStep(call),
      })
    },
  })
  return add
}
