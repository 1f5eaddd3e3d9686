/** `/account/security`: how its user signs in, part by part, and what to do next. The password is the first part; plugins add theirs. */
import { ConfigError } from '../../src/config.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { PageCall } from '../pages/index.ts'
import type { OwnArea } from './area.ts'
import type { NextStep, SecurityPart } from './sections.ts'

/** Serves the page; what it returns adds a part. Throws `ConfigError` for a name that is taken. */
export function addSecurity({ oauth, serve, uri, userOf }: OwnArea): (part: SecurityPart) => void {
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
      const { username } = await userOf(call)
      return { hasPassword: await oauth.users.canSignInByPassword(username), changeUri: uri('/password') }
    },
  })
  serve({
    path: '/account/security',
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
