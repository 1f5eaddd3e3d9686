/**
 * What is linked with an account: a part of the page Security, and `/account/linked-sign-ins`, where its user links and unlinks. Both ask
 * those once more who have signed in more than ten minutes ago, and the last way in stays.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { OAuthError } from '../../src/protocol/errors.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { UpstreamInformation } from '../../src/services/upstreams/upstream-registry.ts'
import type { AccountArea } from '../account/sections.ts'
import type { PageCall } from '../pages/index.ts'
import { UpstreamFailure } from './failures.ts'
import { CHOOSING, type Flows } from './flows.ts'
import { type Links, MOST } from './links.ts'
import type { Provider } from './provider.ts'
import { tellOperator } from './tell.ts'
import { explain, isReason, nameIn, nameOf } from './words.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'account-security-upstreams': { names: readonly string[]; hasAny: boolean; manageUri: string }
    'account-linked-sign-ins': {
      securityUri: string
      notice: Notice | null
      error: Words | null
      links: readonly {
        id: string
        name: string
        as: string | null
        since: Date
        unlink: FormTarget
      }[]
      offers: readonly { id: string; name: string }[]
      /** Whether there are as many as there can be. */
      isFull: boolean
      link: FormTarget
    }
  }
}

/** Below `/account`. */
export const LINKED = '/linked-sign-ins'
const LINK = `${LINKED}/link`
const UNLINK = `${LINKED}/unlink`
const DONE: Readonly<Record<string, Words>> = {
  linked: message('It is linked: from now on you can sign in by it.'),
  already: message('It was linked with your account already.'),
  unlinked: message('It is not linked with your account any more.'),
}
/** A link with no other way in beside it stays. */
const LAST = message(
  'This is the only way to sign in that is left. Add another one first, and then unlink it.',
)
const Text = () => Type.Optional(Type.String())

export interface LinkedOptions {
  readonly flows: Flows
  readonly links: Links
  readonly provider: Provider
}

interface Told {
  readonly done?: string | undefined
  readonly error?: Words | null
}

export async function addLinkedSignIns(fastify: FastifyInstance, options: LinkedOptions): Promise<void> {
  const { account, pages } = fastify
  const { flows, links, provider } = options
  const { upstreams } = kernelOf(fastify)
  const template = (name: string): URL => new URL(`../../templates/${name}.eta`, import.meta.url)
  await pages.add('account-security-upstreams', template('account-security-upstreams'))
  await pages.add('account-linked-sign-ins', template('account-linked-sign-ins'), { leadsAway: true })

  const area: AccountArea = account.addSecurity({
    name: 'upstreams',
    part: 'account-security-upstreams',
    async model({ request }) {
      const [all, own] = [await upstreams.all(), await links.list(area.sessionOf(request).userId)]
      const names = new Set(own.map(({ value }) => nameIn(all, value.issuer)))
      return { names: [...names], hasAny: all.length + own.length > 0, manageUri: area.uri(LINKED) }
    },
  })

  async function show(call: PageCall, { done, error = null }: Told, status = 200): Promise<FastifyReply> {
    const [all, own] = [await upstreams.all(), await links.list(area.sessionOf(call.request).userId)]
    const shown = own.map(({ id, value, createdAt }) => ({
      id,
      name: nameIn(all, value.issuer),
      as: value.name,
      since: new Date(createdAt),
      unlink: area.target(call, UNLINK, id),
    }))
    const notice = done !== undefined && Object.hasOwn(DONE, done) ? DONE[done]! : null
    const model = {
      securityUri: area.uri('/security'),
      notice: notice === null ? null : { kind: 'success' as const, text: notice },
      error,
      links: shown,
      offers: own.length < MOST ? all.map((one) => ({ id: one.id, name: nameOf(one) })) : [],
      isFull: own.length >= MOST,
      link: area.target(call, LINK),
    }
    return call.reply.page('account-linked-sign-ins', model, { status })
  }

  async function errorOf(id: string | undefined, refused: string | undefined): Promise<Words | null> {
    const upstream = (await upstreams.all()).find((one) => one.id === id)
    if (upstream === undefined || refused === undefined) return null
    if (refused === 'full') return notLinked(upstream)
    if (refused === 'elsewhere')
      return message('That sign-in of {name} is linked with another account here already.', {
        name: nameOf(upstream),
      })
    return isReason(refused) ? explain(refused, upstream) : null
  }

  area.serve({
    path: `/account${LINKED}`,
    query: Type.Object({ done: Text(), upstream: Text(), refused: Text() }),
    show: async ({ done, upstream, refused }, call) =>
      show(call, { done, error: await errorOf(upstream, refused) }),
  })
  area.serve({
    path: `/account${LINK}`,
    query: Type.Object({}),
    form: Type.Object({ upstream: Text() }),
    show: async (_query, { reply }) => reply.redirect(area.uri(LINKED), 303),
    async submit({ upstream: id }, call) {
      const { userId, sid } = area.assertGenuine(call, LINK)
      const again = area.signInAgain(call, area.uri(LINKED))
      if (again !== undefined) return again
      const upstream = (await upstreams.all()).find((one) => one.id === id)
      if (upstream === undefined)
        return show(call, { error: message('There is no such sign-in here any more.') }, 404)
      // Before they go there for nothing; what comes back is counted once more.
      if ((await links.list(userId)).length >= MOST) return show(call, { error: notLinked(upstream) }, 400)
      try {
        // Whom they mean to link is for them to choose, whoever is signed in there.
        const purpose = { for: 'link', userId, sid } as const
        const asked = await flows.begin(upstream, purpose, { prompt: CHOOSING }, call)
        return await call.reply.redirect(await provider.authorizationUrl(upstream, asked), 303)
      } catch (error) {
        if (!(error instanceof UpstreamFailure)) throw error
        tellOperator(call.request.log, upstream, error)
        return call.reply.redirect(area.uri(LINKED, { upstream: upstream.id, refused: error.failure }), 303)
      }
    },
  })
  area.serve({
    path: `/account${UNLINK}`,
    query: Type.Object({}),
    form: Type.Object({ link: Text() }),
    show: async (_query, { reply }) => reply.redirect(area.uri(LINKED), 303),
    async submit({ link: id = '' }, call) {
      const { userId } = area.assertGenuine(call, UNLINK, id)
      const again = area.signInAgain(call, area.uri(LINKED))
      if (again !== undefined) return again
      try {
        // One that is gone already is as it was wanted.
        await links.unlink(userId, id)
      } catch (error) {
        if (!(error instanceof OAuthError) || error.status !== 400) throw error
        return show(call, { error: LAST }, 400)
      }
      return call.reply.redirect(area.uri(LINKED, { done: 'unlinked' }), 303)
    },
  })
}

/** The page says below why, and what to do. */
function notLinked(upstream: UpstreamInformation): Words {
  return message('{name} is not linked with your account.', { name: nameOf(upstream) })
}
