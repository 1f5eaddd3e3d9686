/**
 * `/account/email`: the address by which a user is reached, and by which apps may know them. Who changes it has signed
 * in a moment ago: a browser that was left open must not give an account away.
 */
import { Type } from '../../src/protocol/schema.ts'
import { LOOK_AGAIN } from '../pages/expired-form.ts'
import type { PageCall } from '../pages/index.ts'
import type { OwnArea } from './area.ts'

const PATH = '/email'
const MAX_LENGTH = 254

interface Shown {
  saved?: boolean
  typed?: string
  error?: string | null
}

export function addEmail(area: OwnArea): void {
  const { oauth, serve, uri, userOf } = area

  async function show(call: PageCall, { saved = false, typed, error = null }: Shown) {
    const { claims } = await userOf(call)
    const email = (claims['email'] as string | undefined) ?? ''
    const model = {
      ...area.target(call, PATH),
      email,
      verified: claims['email_verified'] === true,
      typed: typed ?? email,
      saved,
      error,
    }
    return call.reply.page('account-email', model, { status: error === null ? 200 : 400 })
  }

  serve({
    path: `/account${PATH}`,
    query: Type.Object({ saved: Type.Optional(Type.String()) }),
    form: Type.Object({ email: Type.Optional(Type.String()) }),
    show: async ({ saved }, call) =>
      area.signInAgain(call, uri(PATH)) ?? show(call, { saved: saved !== undefined }),
    async submit({ email = '' }, call) {
      area.assertGenuine(call, PATH)
      const again = area.signInAgain(call, uri(PATH))
      if (again !== undefined) return again
      const typed = email.trim()
      if (typed !== '' && (typed.length > MAX_LENGTH || !/^[^\s@\p{C}]+@[^\s@\p{C}]+$/u.test(typed)))
        return show(call, { typed, error: 'This must be an email address, such as alice@example.com.' })
      const { username, claims } = await userOf(call)
      if (typed !== (claims['email'] ?? '')) await oauth.users.update(username, claimsFor(typed))
      return call.reply.redirect(uri(PATH, { saved: 'yes' }), 303)
    },
    again: async ({ email = '' }, call) => show(call, { typed: email, error: LOOK_AGAIN }),
  })
}

/** Nobody has verified the new one. */
function claimsFor(email: string): Record<string, unknown> {
  return email === '' ? { email: null, email_verified: null } : { email, email_verified: false }
}
