/** The way to sign in `password`: user name and password, throttled; its element is `form#login`. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import type { SignInElement } from '../../src/doors/sign-in.ts'
import type { User } from '../../src/doors/user.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { compileParameters } from '../../src/protocol/parameters.ts'
import { Type } from '../../src/protocol/schema.ts'
import { type Waiting, waitFor } from '../../src/http/wait.ts'
import { keptElsewhere } from './kept-elsewhere.ts'
import { createSignInCheck, PASSWORD_ACR, PASSWORD_AMR } from './check.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'login-password': PasswordElement
  }
}

export interface PasswordElement {
  action: string
  csrfToken: string
  /** What the field is filled with; `''` for nothing. */
  username: string
  /** What browsers may offer at the field, with what other ways to sign in add to it. */
  autocomplete: string
  error: Words | null
  /** Until another try is looked at; null for at once. */
  wait: Waiting | null
}

/** One text for an unknown user, a wrong password and a disabled user. */
const REFUSED = message('That user name and password do not match.')

async function passwordSignIn(fastify: FastifyInstance): Promise<void> {
  const authenticate = createSignInCheck(fastify)
  const parse = compileParameters(
    Type.Object({ username: Type.Optional(Type.String()), password: Type.Optional(Type.String()) }),
  )
  await fastify.pages.add('login-password', new URL('../../templates/login-password.eta', import.meta.url))

  /** Once every method is registered. */
  const autocomplete = (): string => {
    const others = [...fastify.oauth.owners('signInMethod').values()].map(({ autofill }) => autofill)
    return ['username', ...others].filter((one) => one !== undefined).join(' ')
  }

  /** Whoever has another way in is not asked for a password that they never had. */
  async function neverHadOne({ id }: User): Promise<boolean> {
    const ways = await fastify.oauth.users.waysIn(id)
    if (ways.length === 0 || ways.includes('password')) return false
    return (await keptElsewhere(fastify.oauth, id)) === null
  }

  const element = (username: string): SignInElement => ({
    part: 'login-password',
    model: { username, autocomplete: autocomplete(), error: null, wait: null },
  })

  function refused(username: string, text: Words, status: number, wait: Waiting | null): SignInElement {
    const { part, model } = element(username)
    return { part, model: { ...model, error: text, wait }, refused: true, status }
  }

  /** Throws for what is no wait. */
  function toWait(error: unknown, username: string, call: BrowserCall): SignInElement {
    const { text, status, seconds, until } = waitFor(error, call)
    return refused(username, text, status, { seconds, until })
  }

  fastify.oauth.register('signInMethod', 'password', {
    reaches: { acr: [PASSWORD_ACR] },
    async offer({ known, hint }, _call, typed) {
      if (known !== null && (await neverHadOne(known))) return null
      return element(typed === undefined ? (known?.username ?? hint) : String(typed['username'] ?? ''))
    },
    async submit(_asked, wire, call) {
      const { username = '', password = '' } = parse(wire)
      try {
        const answer = await authenticate(username, password, call.request)
        if (answer !== null && 'user' in answer)
          return { proof: { user: answer.user, amr: PASSWORD_AMR, acr: PASSWORD_ACR } }
        if (answer !== null) {
          const { refused: why, status = 403, seconds } = answer
          if (seconds !== undefined) call.reply.header('retry-after', seconds)
          return refused(username, why, status, null)
        }
      } catch (error) {
        return toWait(error, username, call)
      }
      call.request.log.info('sign-in refused')
      return refused(username, REFUSED, 403, null)
    },
  })
}

export default fp(passwordSignIn, {
  name: 'latchkey-password-sign-in',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-pages'],
})
