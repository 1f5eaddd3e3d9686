/** The way to sign in `upstream`: a button for each on the sign-in page, and a field for those that are found by their people's address. */
import type { FastifyInstance } from 'fastify'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import type { Proof, SignInAsked, SignInElement } from '../../src/doors/sign-in.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { hasIdTokens } from '../../src/protocol/upstream-kinds.ts'
import type { Upstream } from '../../src/services/upstreams/upstream-registry.ts'
import { isOurs } from '../../src/services/users/ourselves.ts'
import type { User } from '../../src/services/users/user.ts'
import { isOfDomains } from './claims.ts'
import { UpstreamFailure } from './failures.ts'
import { CHOOSING, type Flows } from './flows.ts'
import type { Links } from './links.ts'
import type { Provider } from './provider.ts'
import { tellOperator } from './tell.ts'
import { cannotAsk, explain, isReason, nameOf, type Reason } from './words.ts'
import { promptsOf } from '../interaction/prompt.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'login-upstream': {
      action: string
      csrfToken: string
      buttons: readonly { id: string; text: Words }[]
      /** What the field for an address begins with; null for no field. */
      address: string | null
      error: Words | null
      /** Why some are not offered now; null where all are. */
      withheld: Words | null
      /** Whether it is what was typed there that is wrong. */
      atAddress: boolean
    }
  }
}

/** Its name, in addresses and in notes. */
export const METHOD = 'upstream'

/** What the interaction notes of one that did not get through. */
export interface State {
  readonly upstream: string
  readonly reason: Reason
}

/** What an upstream proved is one factor, by whatever means: what those were is not ours to say (docs/upstreams.md). */
export function proofOf(user: User): Proof {
  return { user, amr: [], acr: '1' }
}

export interface SignInOptions {
  readonly flows: Flows
  readonly links: Links
  readonly provider: Provider
}

export async function addSignIn(fastify: FastifyInstance, options: SignInOptions): Promise<void> {
  const { flows, links, provider } = options
  const { upstreams } = kernelOf(fastify)
  await fastify.pages.add('login-upstream', new URL('../../templates/login-upstream.eta', import.meta.url))

  /** Whoever has to show that it is them once more can only do it where they are linked; `cannot` are those that do not do what is asked. */
  async function offered({ known, request }: SignInAsked) {
    const all = await upstreams.all()
    const linked =
      known === null || all.length === 0
        ? undefined
        : new Set((await links.list(known.id)).map(({ value }) => value.issuer))
    const theirs = all.filter(({ issuer }) => linked?.has(issuer) ?? true)
    const can = (one: Upstream): boolean => hasIdTokens(one) || !isFreshWanted(request)
    return { can: theirs.filter(can), cannot: theirs.filter((one) => !can(one)) }
  }

  async function element(asked: SignInAsked, state: unknown, typed = ''): Promise<SignInElement | null> {
    const { can: all, cannot } = await offered(asked)
    const hint = asked.hint
    const isShown = (one: Upstream): boolean =>
      one.button !== false || asked.known !== null || isOfDomains(one, hint)
    const missing = cannot.filter(isShown)
    if (all.length + missing.length === 0) return null
    const hidden = all.filter((one) => !isShown(one))
    const error = await errorOf(state)
    const address = hidden.length > 0 ? typed : null
    const model = {
      buttons: all.filter(isShown).map((one) => ({
        id: one.id,
        text: message('Continue with {name}', { name: nameOf(one) }),
      })),
      address,
      error,
      withheld: missing.length === 0 ? null : cannotAsk(missing),
      atAddress: address !== null && (state as Partial<State> | null)?.reason === 'unknown address',
    }
    return { part: 'login-upstream', model, refused: error !== null }
  }

  async function errorOf(state: unknown): Promise<Words | null> {
    const { upstream, reason } = (state ?? {}) as Partial<State>
    if (!isReason(reason)) return null
    return explain(
      reason,
      (await upstreams.all()).find(({ id }) => id === upstream),
    )
  }

  async function leave(asked: SignInAsked, upstream: Upstream, typed: string, call: BrowserCall) {
    const { known, request, address } = asked
    const maxAge = (request.parameters['max_age'] as number | undefined) ?? null
    const parameters = parametersOf(asked, typed)
    const fresh = parameters['prompt'] === 'login' ? { fresh: true as const } : {}
    const purpose = { for: 'sign-in', address, known: known?.id ?? null, ...fresh, maxAge } as const
    const begun = await flows.begin(upstream, purpose, parameters, call)
    return { elsewhere: await provider.authorizationUrl(upstream, begun) }
  }

  fastify.oauth.register('signInMethod', METHOD, {
    reaches: { acr: ['1'] },
    offer: async (asked, _call, typed) => element(asked, asked.state, textOf(typed?.['address'])),
    async submit(asked, wire, call) {
      const typed = textOf(wire['address']).trim()
      const { can } = await offered(asked)
      const upstream = can.find((one) =>
        wire['upstream'] === undefined ? isOfDomains(one, typed) : one.id === wire['upstream'],
      )
      const refused = async (reason: Reason, status: number): Promise<SignInElement> => {
        const state = { upstream: upstream?.id ?? '', reason } satisfies State
        const shown = await element(asked, state, typed)
        return {
          part: 'login-upstream',
          model: { buttons: [], address: null, error: null, withheld: null, atAddress: false },
          ...shown,
          status,
        }
      }
      if (upstream === undefined) return refused('unknown address', 403)
      try {
        return await leave(asked, upstream, typed, call)
      } catch (error) {
        if (!(error instanceof UpstreamFailure)) throw error
        tellOperator(fastify.log, upstream, error)
        return refused(error.failure, 403)
      }
    },
  })
}

/**
 * Whether an app wants to know when somebody signed in (OpenID Connect Core §3.1.2.1): of what has no ID token, nobody could tell it. Our own
 * pages, which ask once more before some changes, take it that somebody is signed in there as the same person.
 */
function isFreshWanted(request: SignInAsked['request']): boolean {
  return (
    !isOurs(request) && (promptsOf(request).includes('login') || request.parameters['max_age'] !== undefined)
  )
}

/** OpenID Connect Core §3.1.2.1: what was asked of us of a sign-in is asked of the upstream. */
function parametersOf({ known, hint, request }: SignInAsked, typed: string): Record<string, string> {
  const asked = promptsOf(request)
  const prompt =
    known !== null || asked.includes('login') ? 'login' : asked.includes(CHOOSING) ? CHOOSING : ''
  const maxAge = request.parameters['max_age'] as number | undefined
  const address = typed === '' ? hint : typed
  return {
    ...(prompt === '' ? {} : { prompt }),
    ...(maxAge === undefined ? {} : { max_age: String(maxAge) }),
    ...(address.includes('@') ? { login_hint: address } : {}),
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
