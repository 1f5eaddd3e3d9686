/** Signing in by a one-time code that comes by mail: six digits, good for ten minutes, five tries, used once. */
import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { OAuthError, type SignInAsked, type SignInElement, type StepPage } from 'latchkey'

declare module 'latchkey' {
  interface Pages {
    'email-code-offer': { action: string; csrfToken: string; username: string; error: string | null }
    'email-code': { action: string; csrfToken: string; error: string | null }
  }
}

/** What the browser carries, encrypted, from the page that asks for a code to the page that takes it. */
interface Sent {
  handle: string
}

/** What is stored, under the handle; for a name that is nobody's, too. */
interface Challenge {
  user: string | null
  /** Of the handle and the code: the handle is not stored, so nobody can try all codes with the database alone. */
  hash: string
  tries: number
}

const LIFETIME = 600
const TRIES = 5

export default async function emailCode(fastify: FastifyInstance): Promise<void> {
  const { oauth, pages } = fastify
  const challenges = oauth.artifacts<Challenge>('email-code', { lifetime: LIFETIME })
  const asking = oauth.throttle('email-code-mail')
  const guessing = oauth.throttle('email-code')
  await pages.add('email-code-offer', new URL('offer.eta', import.meta.url))
  await pages.add('email-code', new URL('code.eta', import.meta.url), { kind: 'interaction' })

  const offer = (username: string, error: string | null = null): SignInElement => ({
    part: 'email-code-offer',
    model: { username, error },
    refused: error !== null,
    status: error === null ? 200 : 429,
  })
  const page = (error: string | null = null): StepPage => ({
    page: 'email-code',
    model: { error },
    status: error === null ? 200 : 403,
  })
  const hashOf = (handle: string, code: string): string =>
    createHash('sha256').update(`${handle} ${code}`).digest('base64url')

  /** The same for whoever it is, known or not. */
  async function send(username: string, address: string): Promise<Sent> {
    // Each mail counts as a failure: nobody is to be sent hundreds.
    const attempt = await asking.attempt(username.toLowerCase(), address)
    await attempt.failed()
    const user = await oauth.users.find(username)
    const isTheirs = user?.disabled === false && user.claims['email_verified'] === true
    const to = isTheirs ? (user.claims['email'] as string) : undefined
    const code = String(randomInt(1_000_000)).padStart(6, '0')
    const handle = randomBytes(32).toString('base64url')
    const stored = to === undefined ? null : user!.id
    await challenges.put({ user: stored, hash: hashOf(handle, code), tries: 0 }, { handle })
    if (to !== undefined)
      // Nobody waits for the mail: its time would tell who has an account.
      void oauth.mail
        .send({ to, subject: 'Your code', text: `${code} is your code. It is good for ten minutes.` })
        .catch((error: unknown) => fastify.log.warn({ err: error }, 'no code could be sent'))
    return { handle }
  }

  /** Who it is, where the code is right. Each try is taken by compare-and-set before anything is compared. */
  async function check({ handle }: Sent, code: string): Promise<string | null> {
    const had = await challenges.get(handle)
    if (had === null || had.tries >= TRIES) return null
    if (!(await challenges.replace(handle, had, { ...had, tries: had.tries + 1 }))) return null
    const isRight = timingSafeEqual(Buffer.from(hashOf(handle, code)), Buffer.from(had.hash))
    return isRight && (await challenges.spend(handle)) !== null ? had.user : null
  }

  async function submitCode({ state }: SignInAsked, code: string, address: string) {
    const attempt = await guessing.attempt(null, address)
    try {
      const userId = await check(state as Sent, code)
      const user = userId === null ? null : await oauth.findUser(userId)
      if (user === null || user.disabled) {
        await attempt.failed()
        return page('That code is not right, or not any more. Ask for another one.')
      }
      attempt.succeeded()
      return { proof: { user, amr: ['otp'], acr: '1' } }
    } finally {
      attempt.abandoned()
    }
  }

  oauth.register('signInMethod', 'email-code', {
    reaches: { acr: ['1'] },
    offer: async ({ known, hint }, _call, typed) =>
      offer(known?.username ?? String(typed?.['username'] ?? hint)),
    page: async () => page(),
    async submit(asked, wire, { request }) {
      const { username, code } = wire
      try {
        if (typeof code === 'string' && asked.state !== undefined)
          return await submitCode(asked, code.trim(), request.ip)
        if (typeof username !== 'string') return offer('')
        return { state: await send(username, request.ip) }
      } catch (error) {
        if (!(error instanceof OAuthError) || error.status !== 429) throw error
        const text = 'There were too many tries. Please wait a few minutes.'
        return asked.state === undefined
          ? offer(String(username ?? ''), text)
          : { ...page(text), status: 429 }
      }
    },
  })
}
