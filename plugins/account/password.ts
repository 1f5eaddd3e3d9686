/** `/account/password`: a new password for who knows the present one. This browser stays signed in, all else ends. */
import { message, sentenceOf, type Words } from '../../src/protocol/message.ts'
import type { FastifyInstance } from 'fastify'
import { isAbout } from '../../src/protocol/errors.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { User } from '../../src/services/users/user.ts'
import { keptElsewhere } from '../password/kept-elsewhere.ts'
import type { PageCall } from '../pages/index.ts'
import { createPasswordCheck } from '../password/check.ts'
import { waitFor, type Wait } from '../../src/http/wait.ts'
import type { OwnArea } from './area.ts'

const PATH = '/password'

interface Typed {
  current_password?: string
  new_password?: string
}
type Errors = Readonly<Partial<Record<keyof Typed, Words>>>

interface Shown {
  errors?: Errors
  wait?: Wait
  saved?: boolean
}

export function addPassword(area: OwnArea, fastify: FastifyInstance): void {
  const { oauth, browser, serve, uri, userOf } = area
  const isPassword = createPasswordCheck(fastify)
  const { OIDC_PASSWORD_MIN_LENGTH: minLength } = area.kernel.config

  async function show(
    call: PageCall,
    { id, username }: User,
    { errors = {}, wait, saved = false }: Shown = {},
  ) {
    const model = {
      ...area.target(call, PATH),
      securityUri: uri('/security'),
      username,
      hasPassword: await oauth.users.canSignInByPassword(username),
      kept: await keptElsewhere(oauth, id),
      minLength,
      errors: { current: errors.current_password ?? null, new: errors.new_password ?? null },
      wait: wait?.advice ?? null,
      saved,
    }
    const wrong = Object.keys(errors).length > 0
    return call.reply.page('account-password', model, { status: wait?.status ?? (wrong ? 400 : 200) })
  }

  /** Whether their session ended or went on meanwhile, as by the same form, which was sent twice: a new password ends all of them. */
  const isOther = async (call: PageCall): Promise<boolean> =>
    area.isRepeated(call) || !(await area.kernel.sessions.isOpen(area.sessionOf(call.request).sid))

  /** The user with the new password, or what is wrong. Throws 429 and 503 for who has to wait. */
  async function change(user: User, typed: Typed, call: PageCall): Promise<User | Errors> {
    const { request } = call
    const { current_password: current = '', new_password: wanted = '' } = typed
    if (wanted.length < minLength)
      return {
        new_password: message('This is too short: choose at least {minLength} characters.', { minLength }),
      }
    const replace = await area.kernel.users.replacement(user)
    if ((await isPassword(user, current, request)) === null) {
      const isDone = (await isOther(call)) && (await isPassword(user, wanted, request)) !== null
      return isDone ? oauth.users.get(user.id) : { current_password: message('This is not your password.') }
    }
    if (wanted === current) return { new_password: message('This is the password that you have.') }
    try {
      // Where another form was faster, this one is as one that comes after it.
      return (await replace(wanted)) ?? (await change(user, typed, call))
    } catch (error) {
      if (!isAbout(error, 'password')) throw error
      return { new_password: sentenceOf(error.about.reason) }
    }
  }

  serve({
    path: `/account${PATH}`,
    query: Type.Object({ saved: Type.Optional(Type.String()) }),
    form: Type.Object({
      current_password: Type.Optional(Type.String()),
      new_password: Type.Optional(Type.String()),
    }),
    show: async ({ saved }, call) => show(call, await userOf(call), { saved: saved !== undefined }),
    async submit(typed, call) {
      area.assertGenuine(call, PATH)
      const user = await userOf(call)
      const result = await change(user, typed, call).catch((error: unknown) => waitFor(error, call))
      if ('advice' in result) return show(call, user, { wait: result })
      if (!('id' in result)) return show(call, user, { errors: result })
      // As they were signed in before: a password alone is not what it may have taken.
      const { amr, acr, authenticatedAt } = area.sessionOf(call.request)
      const before = { amr, ...(acr === null ? {} : { acr }), authenticatedAt }
      await browser.signIn(call, { user: result, ...before, form: call.wire })
      return call.reply.redirect(uri(PATH, { saved: 'yes' }), 303)
    },
  })
}
