/**
 * The page where people decide: sign-in, second factor and consent are the server's own, for the one person whom the client named. Consent
 * is asked every time, and shows the binding message.
 */
import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ApprovalRequest } from '../../../../src/doors/approval.ts'
import type { BrowserCall, EndedInteraction } from '../../../../src/doors/interaction.ts'
import { approvalFromJson, grantedToJson } from '../../../../src/doors/stored-facts.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { message, type Message } from '../../../../src/protocol/message.ts'
import { Type } from '../../../../src/protocol/schema.ts'
import { CIBA } from '../../../../src/services/clients/client-kinds.ts'
import { isOfClient } from '../../../../src/services/clients/same-client.ts'
import { STEPS } from '../../../browser/index.ts'
import { faceOf } from '../../../pages/client-view.ts'
import { ExplainedError } from '../../../pages/error-page.ts'
import type { PageCall } from '../../../pages/index.ts'
import { APPROVE } from './devices.ts'
import { isOpen, type Decision } from '../decision.ts'
import type { BackchannelRequest, BackchannelRequests } from './requests.ts'

const OUTCOME = 'ciba'
const ENDS = {
  allowed: {
    title: message('You have approved it'),
    text: message('The app goes on by itself in a moment. You may close this page.'),
  },
  denied: {
    title: message('You have denied it'),
    text: message('The app gets nothing. You may close this page.'),
  },
  unmet: {
    title: message('This cannot be approved'),
    text: message('What the app asks for is not possible here. It gets nothing, and is told so.'),
  },
  over: {
    title: message('Nothing waits for you here'),
    text: message(
      'What an app asked you for here was answered before, or nobody answered in time. If you still want it, start again at the app.',
    ),
  },
} as const
const FOR_ANOTHER = {
  title: message('This is for another account'),
  text: message(
    'The app did not ask the account that you signed in with. Nothing is decided: open the page again, and sign in with the account that it asked.',
  ),
}

/** What the interaction is started with: `entry` tells the page from others of the same request. */
interface PageState {
  readonly id: string
  /** Absent where an older version has opened it. */
  readonly entry?: string
}

export async function addPages(fastify: FastifyInstance, requests: BackchannelRequests): Promise<void> {
  const { oauth, browser, interactions, pages } = fastify
  const path = `${oauth.config.basePath}${APPROVE}`
  // What tells a request that somebody expects from a stranger's.
  pages.mustShow('consent', 'bindingMessage', 'notices')

  function showEnd({ reply }: BrowserCall, end: keyof typeof ENDS): FastifyReply {
    const status = end === 'over' ? 410 : 200
    return reply.page('page-message', { ...ENDS[end], primary: null }, { status })
  }

  async function openRequest(id: string): Promise<BackchannelRequest | null> {
    const request = await requests.find(id)
    return request !== null && isOpen(request) ? request : null
  }

  async function approvalOf(request: BackchannelRequest, call: PageCall): Promise<ApprovalRequest> {
    const { approval, askedAt } = request
    const client = await oauth.findClient(approval.client)
    if (client === null || !isOfClient(approval.client, askedAt, client))
      throw new OAuthError('invalid_client', 'the app is not registered any more', { status: 400 })
    if (!client.grantTypes.has(CIBA))
      throw new OAuthError('unauthorized_client', 'the app may not ask in this way any more')
    const session = await browser.session(call.request)
    const isSomeoneElse = session !== null && session.userId !== approval.user
    const prompt = isSomeoneElse ? ['select_account', 'consent'] : ['consent']
    const { name: app } = faceOf(client)
    return {
      ...approvalFromJson(approval, client),
      parameters: { ...approval.parameters, prompt },
      notices: [noticeOf(request, app)],
    }
  }

  /** The way on is the page, where they choose another account. */
  function forAnother(code: string, description: string, id: string): ExplainedError {
    const uri = `${path}?${new URLSearchParams({ id }).toString()}`
    return new ExplainedError(code, description, {
      words: FOR_ANOTHER,
      ways: [{ uri, text: message('Open the page again') }],
    })
  }

  /** Who lacks for good what is demanded is never signed in for it, and can only have it end. */
  async function isNamed(user: string | undefined, end: keyof typeof ENDS, { request }: BrowserCall) {
    const signedIn = await browser.session(request)
    const session = signedIn === null && end === 'unmet' ? await browser[STEPS].unfinished(request) : signedIn
    return session !== null && session.userId === user
  }

  /** Nobody but the one who was named decides, whatever a step of others makes of it. */
  async function end(
    { request: asked, state }: EndedInteraction,
    decision: Decision,
    call: BrowserCall,
    error?: OAuthError,
  ): Promise<FastifyReply> {
    const { id, entry = id } = state as unknown as PageState
    const user = (await requests.find(id))?.approval.user ?? asked.user ?? ''
    const told = endOf(decision)
    if (!(await isNamed(user, told, call)))
      throw error ?? forAnother('access_denied', 'the request is for somebody else', id)
    const isDecided = await requests.decide(id, decision, { entry, user })
    return call.reply.redirect(`${path}/${isDecided ? told : 'over'}`, 303)
  }

  pages.serve({
    path: APPROVE,
    query: Type.Object({ id: Type.Optional(Type.String({ maxLength: 100 })) }),
    async show({ id = '' }, call) {
      const request = await openRequest(id)
      if (request === null) return showEnd(call, 'over')
      return interactions.start(await approvalOf(request, call), OUTCOME, { id, entry: randomUUID() }, call)
    },
  })
  for (const told of Object.keys(ENDS) as (keyof typeof ENDS)[])
    pages.serve({
      path: `${APPROVE}/${told}`,
      query: Type.Object({}),
      show: async (_query, call) => showEnd(call, told),
    })

  oauth.register('outcome', OUTCOME, {
    async check({ user = '' }, state) {
      const { id, entry = id } = state as unknown as PageState
      if ((await openRequest(id)) === null && !(await requests.hasDecided({ entry, user })))
        throw new ExplainedError('invalid_request', 'the request was answered before, or is too old', {
          words: ENDS.over,
        })
    },
    approved: async (interaction, granted, call) =>
      end(interaction, { granted: grantedToJson(granted) }, call),
    // Who signs in as somebody else has decided nothing. What nobody can allow is over, so that the app need not wait in vain.
    async denied(interaction, error, call) {
      if (error.code === 'login_required')
        throw forAnother(error.code, error.message, String(interaction.state['id']))
      const unmet = error.code === 'access_denied' ? {} : { unmet: error.code }
      return end(interaction, { denied: true, ...unmet }, call, error)
    },
  })
}

function endOf(decision: Decision): keyof typeof ENDS {
  if ('granted' in decision) return 'allowed'
  return decision.unmet === undefined ? 'denied' : 'unmet'
}

/** Whoever names somebody can ask them for something: they are to know where it came from. */
function noticeOf({ askedAt, address }: BackchannelRequest, app: string): Message {
  return message(
    'Do you expect this? {app} asked {minutes, plural, =0 {a moment ago} one {# minute ago} other {# minutes ago}}, from the address {address}. Deny if you have nothing to do with it now.',
    { app, address, minutes: Math.floor((Date.now() - askedAt) / 60_000) },
  )
}
