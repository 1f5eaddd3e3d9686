/**
 * `/upstream/ID/callback`: whoever comes back from an upstream goes on where they were, signed in or told why not.
 * An answer that comes by a form of another site has none of their cookies with it: it is sent on by their browser, which brings them.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { queryText } from '../../src/http/forms.ts'
import { message } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import { kindOf } from '../../src/protocol/upstream-kinds.ts'
import type { Attempt } from '../../src/services/throttle/throttle.ts'
import type { Upstream } from '../../src/services/upstreams/upstream-registry.ts'
import { ExplainedError } from '../pages/error-page.ts'
import type { PageCall } from '../pages/index.ts'
import type { Accounts, Linking } from './accounts.ts'
import { createAppleUser } from './apple.ts'
import { UpstreamFailure } from './failures.ts'
import type { Flow, Flows, Purpose } from './flows.ts'
import { LINKED } from './linked-sign-ins.ts'
import type { Newcomers } from './newcomers.ts'
import type { Identity, Provider } from './provider.ts'
import { METHOD, proofOf, type State } from './sign-in.ts'
import type { SignOuts } from './sign-out.ts'
import { tellOperator } from './tell.ts'
import type { Reason } from './words.ts'

/** Of an upstream's answer; some codes are long. */
const LONG = Type.Optional(Type.String({ maxLength: 6000 }))
const Answer = Type.Object({
  state: Type.Optional(Type.String({ maxLength: 4096 })),
  code: LONG,
  id_token: LONG,
})
/** Form Post Response Mode 1.0 §2; `user` is Apple's. */
const Form = Type.Object({
  ...Answer.properties,
  error: Type.Optional(Type.String({ maxLength: 200 })),
  iss: Type.Optional(Type.String({ maxLength: 2048 })),
  user: Type.Optional(Type.String({ maxLength: 2048 })),
})
/**
 * Each answer that is made up has the upstream asked: of so many requests there are few at a time, and they are for everybody. They count for
 * the upstream, since one that does not work has answers like that, and is to keep nobody from another: the network has them of ten.
 */
const LIMITS = {
  account: { failures: 40, recovery: 5 },
  network: { failures: 400, recovery: 0.5 },
}
/** Milliseconds by which its clock may be behind ours. */
const TOLERANCE = 60_000

/** What the page of linked sign-ins calls it. */
const REFUSED: Readonly<Partial<Record<Linking, string>>> = { taken: 'elsewhere', full: 'full' }

export interface CallbackOptions {
  readonly flows: Flows
  readonly provider: Provider
  readonly accounts: Accounts
  readonly newcomers: Newcomers
  readonly signOuts: SignOuts
}

/** What came back. */
interface Came {
  readonly upstream: Upstream
  readonly flow: Flow
  readonly attempt: Attempt
}

type SignInPurpose = Extract<Purpose, { for: 'sign-in' }>
type LinkPurpose = Extract<Purpose, { for: 'link' }>

export function addCallback(
  fastify: FastifyInstance,
  { flows, provider, accounts, newcomers, signOuts }: CallbackOptions,
): void {
  const { interactions, browser, oauth } = fastify
  const { upstreams } = kernelOf(fastify)
  const appleUser = createAppleUser(fastify)
  const throttle = oauth.throttle('upstream-answer', LIMITS)

  /**
   * Who somebody is there. One who was to choose that, where the upstream knows of no such thing, signs in there anew: that every
   * upstream knows (OpenID Connect Core §15.1). Then it is the address to go to.
   */
  async function identify({ upstream, flow, attempt }: Came, call: PageCall): Promise<Identity | string> {
    try {
      return await provider.identify(upstream, queryText(call.request), flow.checks)
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error
      if (!error.isOfRequest || !flow.choosing) {
        if (error.failure === 'unusable' && !error.isRefusal) await attempt.failed()
        throw error
      }
      const { purpose } = flow
      const maxAge = purpose.for === 'sign-in' ? purpose.maxAge : null
      const parameters = { prompt: 'login', ...(maxAge === null ? {} : { max_age: String(maxAge) }) }
      const again = await flows.begin(upstream, purpose, parameters, call)
      return provider.authorizationUrl(upstream, again)
    } finally {
      attempt.abandoned()
    }
  }

  async function signIn(came: Came, purpose: SignInPurpose, call: PageCall) {
    const { upstream, flow } = came
    const back = async (reason: Reason): Promise<FastifyReply> => {
      const state = { upstream: upstream.id, reason } satisfies State
      return interactions.leadBack(purpose.address, { method: METHOD, state }, call)
    }
    // What is over says so at its own address, and leads on from there.
    if ((await interactions.wayBack(purpose.address, call)) === null)
      return call.reply.redirect(purpose.address, 303)
    try {
      const identity = await identify(came, call)
      if (typeof identity === 'string') return await call.reply.redirect(identity, 303)
      if (isStale(identity, flow, purpose)) return await back('stale')
      const account = await accounts.find(upstream, identity, purpose.known)
      if ('newcomer' in account) {
        const { newcomer } = account
        const isAsked = await newcomers.ask(upstream, identity, newcomer, purpose.address, call)
        return isAsked ? await newcomers.lead(call) : await back('too often')
      }
      if ('refused' in account) return await back(account.refused)
      const { user } = account
      if (purpose.known !== null && purpose.known !== user.id) return await back('other person')
      await signOuts.remember(upstream, user.id, identity.idToken, call)
      return await interactions.prove(purpose.address, proofOf(user), call)
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error
      tellOperator(call.request.log, upstream, error)
      return back(error.failure)
    }
  }

  async function link(came: Came, { userId, sid }: LinkPurpose, call: PageCall) {
    const { upstream } = came
    const assertStillThere = async (): Promise<void> => {
      const session = await browser.sessionNow(call.request)
      if (session?.userId !== userId || session.sid !== sid) throw ended()
    }
    await assertStillThere()
    const back = (query: Record<string, string>): FastifyReply =>
      call.reply.redirect(
        `${oauth.config.basePath}/account${LINKED}?${new URLSearchParams(query).toString()}`,
        303,
      )
    try {
      const identity = await identify(came, call)
      if (typeof identity === 'string') return await call.reply.redirect(identity, 303)
      // The upstream took its time.
      await assertStillThere()
      const done = await accounts.link(userId, upstream, identity)
      const refused = REFUSED[done]
      return back(refused === undefined ? { done } : { upstream: upstream.id, refused })
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error
      tellOperator(call.request.log, upstream, error)
      return back({ upstream: upstream.id, refused: error.failure })
    }
  }

  fastify.pages.serve({
    path: '/upstream/:id/callback',
    query: Answer,
    async show({ state = '' }, call) {
      const { id } = call.request.params as { id: string }
      const upstream = (await upstreams.all()).find((one) => one.id === id)
      if (upstream === undefined || state === '') throw ended()
      // Before it is used up: who has to wait comes again with it.
      const attempt = await throttle.attempt(upstream.id, call.request.ip)
      try {
        const flow = await flows.end(upstream, state, call)
        if (flow === null) throw ended()
        const [came, { purpose }] = [{ upstream, flow, attempt }, flow]
        return await (purpose.for === 'link' ? link(came, purpose, call) : signIn(came, purpose, call))
      } finally {
        attempt.abandoned()
      }
    },
    form: Form,
    // Whose it is, is judged where it leads: this has it come by GET, with the cookies that are `SameSite=Lax`.
    async submit({ id_token: _unasked, user, ...answer }, { request, reply }) {
      const { id } = request.params as { id: string }
      const upstream = (await upstreams.all()).find((one) => one.id === id)
      if (upstream === undefined || kindOf(upstream) !== 'apple') throw ended()
      const sealed = user === undefined ? {} : { user: appleUser.seal(user, answer.state ?? '') }
      const query = new URLSearchParams({ ...answer, ...sealed }).toString()
      return reply.redirect(`${oauth.config.basePath}/upstream/${id}/callback?${query}`, 303)
    },
  })
}

/** Where it says when they signed in there: not before the client allows, and where they were to do it anew, not before they left. */
function isStale({ authTime }: Identity, { begun }: Flow, { known, fresh, maxAge }: SignInPurpose): boolean {
  if (authTime === undefined) return false
  const at = authTime * 1000 + TOLERANCE
  const isAnew = fresh === true || known !== null
  return (isAnew && at < begun) || (maxAge !== null && at < begun - maxAge * 1000)
}

/** Used, too old, of another browser, of another upstream, or made up: which of them is nobody's business. */
function ended(): ExplainedError {
  return new ExplainedError('invalid_request', 'this answer belongs to no sign-in that is under way here', {
    words: {
      title: message('This sign-in has ended'),
      text: message(
        'It was used already, is too old, or began in another browser. Go back to the app that you want to use, and start again there.',
      ),
    },
  })
}
