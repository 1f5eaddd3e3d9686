/**
 * Signing in by a code host that speaks OAuth and nothing of OpenID Connect, as GitHub does: its page says who somebody is there, and they
 * come back to `/code-host/callback`. Who is new gets an account; who has one is known again by the number that the host has for them.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { networkOf, OAuthError, OutboundError, Type, type BrowserCall, type User } from 'latchkey'

declare module 'latchkey' {
  interface Pages {
    'code-host-offer': { action: string; csrfToken: string; error: string | null }
  }
}

/** A sign-in that is under way there, stored under the hash of its `state`. */
interface Flow {
  /** The way back to the interaction. */
  address: string
  /** Hash of what the browser is known by. */
  browser: string
  /** PKCE (RFC 7636): who steals the code from the address has nothing. */
  verifier: string
  /** Who has to show once more that it is them. */
  known: string | null
}

const METHOD = 'code-host'
const CALLBACK = '/code-host/callback'
const WORDS = {
  denied: 'You did not sign in there.',
  failed: 'The code host does not answer at this moment.',
  taken: 'Somebody here has that name already. Sign in another way.',
  'somebody else': 'You signed in there as somebody else.',
} as const
type Reason = keyof typeof WORDS

function required(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} must be set`)
  return value
}

export default async function codeHost(fastify: FastifyInstance): Promise<void> {
  const { oauth, browser, interactions, pages } = fastify
  const [host, id, secret] = ['CODE_HOST', 'CODE_HOST_CLIENT', 'CODE_HOST_SECRET'].map(required)
  const redirectUri = `${oauth.issuer}${CALLBACK}`
  const flows = oauth.artifacts<Flow>('code-host-flow', { lifetime: 600 })
  /** Under the number of the host's; one user at most has it, and signs in by it. */
  const links = oauth.users.records<{ login: string }>('code-host-link', {
    unique: true,
    signsIn: true,
    describe: ({ login }) => ({ login }),
  })
  await pages.add('code-host-offer', new URL('offer.eta', import.meta.url))

  const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url')
  const isSame = (one: string, other: string): boolean =>
    one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))

  oauth.register('signInMethod', METHOD, {
    reaches: { acr: ['1'], by: async (user) => (await links.list(user.id)).length > 0 },
    async offer({ known, state }) {
      if (known !== null && (await links.list(known.id)).length === 0) return null
      const error = WORDS[state as Reason] ?? null
      return { part: 'code-host-offer', model: { error }, refused: error !== null }
    },
    async submit({ address, known }, _wire, call) {
      const [state, verifier] = [randomBytes(32), randomBytes(32)].map((bytes) => bytes.toString('base64url'))
      const flow = {
        address,
        browser: hashOf(browser.id(call)),
        verifier: verifier!,
        known: known?.id ?? null,
      }
      // Those of one network give way to each other, and to nobody else's.
      await flows.put(flow, { handle: state!, owner: `network ${networkOf(call.request.ip)}`, most: 1000 })
      const asked = new URLSearchParams({
        client_id: id!,
        redirect_uri: redirectUri,
        state: state!,
        code_challenge: hashOf(verifier!),
        code_challenge_method: 'S256',
      })
      return { elsewhere: `${host}/login/oauth/authorize?${asked.toString()}` }
    },
  })

  /** Used up; null for one of another browser, which stays that one's, and for none. */
  async function flowOf(state: string, call: BrowserCall): Promise<Flow | null> {
    const found = await flows.get(state)
    return found !== null && isSame(found.browser, hashOf(browser.id(call))) ? flows.spend(state) : null
  }

  async function ask(
    path: string,
    init: Parameters<typeof oauth.fetch>[1],
  ): Promise<Record<string, unknown>> {
    const response = await oauth.fetch(`${host}${path}`, init)
    if (!response.ok) throw new Error(`the code host answers ${response.status}`)
    return (await response.json()) as Record<string, unknown>
  }

  /** Who the code says that somebody is there. */
  async function identify(code: string, verifier: string): Promise<{ number: string; login: string }> {
    const form = {
      client_id: id!,
      client_secret: secret!,
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    }
    const { access_token: token } = await ask('/login/oauth/access_token', {
      method: 'POST',
      headers: { accept: 'application/json' },
      body: new URLSearchParams(form),
    })
    const headers = { accept: 'application/json', authorization: `Bearer ${String(token)}` }
    const { id: number, login } = await ask('/user', { headers })
    if (!Number.isSafeInteger(number) || typeof login !== 'string') throw new Error('it names nobody')
    return { number: String(number), login }
  }

  /** Their account here, which is made for who is new; null where their name is somebody's. */
  async function accountOf({ number, login }: { number: string; login: string }): Promise<User | null> {
    const owner = await links.owner(number)
    if (owner !== null) return oauth.users.get(owner)
    try {
      return await links.register({ username: login }, number, { login })
    } catch (error) {
      if (error instanceof OAuthError && error.status < 500) return null
      throw error
    }
  }

  pages.serve({
    path: CALLBACK,
    query: Type.Object({
      state: Type.Optional(Type.String({ maxLength: 500 })),
      code: Type.Optional(Type.String({ maxLength: 500 })),
      error: Type.Optional(Type.String({ maxLength: 500 })),
    }),
    async show({ state = '', code, error }, call) {
      const flow = state === '' ? null : await flowOf(state, call)
      if (flow === null) throw new OAuthError('invalid_request', 'no sign-in of this browser is under way')
      const { address, verifier, known } = flow
      // One that is over says so at its own address.
      if ((await interactions.wayBack(address, call)) === null) return call.reply.redirect(address, 303)
      const back = async (reason: Reason) =>
        interactions.leadBack(address, { method: METHOD, state: reason }, call)
      if (code === undefined) return back(error === 'access_denied' ? 'denied' : 'failed')
      let user: User | null
      try {
        user = await accountOf(await identify(code, verifier))
      } catch (failure) {
        if (failure instanceof OAuthError && !(failure instanceof OutboundError)) throw failure
        call.request.log.warn({ err: failure }, 'a sign-in by the code host failed')
        return back('failed')
      }
      if (user === null) return back('taken')
      if (known !== null && known !== user.id) return back('somebody else')
      return interactions.prove(address, { user, amr: [], acr: '1' }, call)
    },
  })
}
