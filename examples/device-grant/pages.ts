/**
 * The pages for people (RFC 8628 §3.3): one takes the code, then sign-in and consent are the server's own, then one says
 * how it ended. Consent is asked every time, since any device can pose as any client (§5.4, §5.6).
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import {
  approvalFromJson,
  grantedToJson,
  message,
  OAuthError,
  Type,
  type ApprovalRequest,
  type Bag,
  type FormTarget,
  type Message,
  type PageCall,
  type Words,
} from 'latchkey'
import type { Decision, DeviceRequest, DeviceRequests } from './requests.ts'
import { displayUserCode, normalizeUserCode } from './user-code.ts'

declare module 'latchkey' {
  interface Pages {
    device: DevicePage
    'device-end': { allowed: boolean }
  }
  interface EventDetails {
    /** A code was entered that is not open here. */
    'device.code_refused': Bag
  }
}

interface DevicePage extends FormTarget {
  /** What the field is filled with; `''` for nothing. */
  userCode: string
  /** It came with the link: the person has typed nothing yet. */
  prefilled: boolean
  error: Words | null
}

/** What both the form and its token are for. */
const PURPOSE = 'device'
/** Of 20^8 codes; `recovery` in seconds. §5.1. */
const TRIES = { failures: 10, recovery: 30 }
const REFUSED = message(
  'That code is not known here, has been used, or is too old. Check it, or start again on the device.',
)

export async function addPages(fastify: FastifyInstance, requests: DeviceRequests): Promise<void> {
  const { oauth, browser, interactions, pages } = fastify
  const action = `${oauth.config.basePath}/device`
  const throttle = oauth.throttle(PURPOSE, { account: TRIES, network: TRIES })

  function askForCode(call: PageCall, page: Partial<DevicePage>, status = 200): FastifyReply {
    const form = { action, csrfToken: browser.csrfToken(call, PURPOSE) }
    return call.reply.page(
      'device',
      { ...form, userCode: '', prefilled: false, error: null, ...page },
      { status },
    )
  }

  /** The open request of the code; a failure counts against the network that it came from. */
  async function findRequest(typed: string, call: PageCall) {
    const attempt = await throttle.attempt(null, call.request.ip)
    try {
      const userCode = normalizeUserCode(typed)
      const found = userCode === null ? null : await requests.claim(userCode, browser.id(call))
      if (found !== null) {
        attempt.succeeded()
        return found
      }
      oauth.audit.observe({ type: 'device.code_refused', details: {} })
      await attempt.failed()
      return null
    } finally {
      attempt.abandoned()
    }
  }

  async function approvalOf(request: DeviceRequest): Promise<ApprovalRequest> {
    const { approval } = request
    const client = await oauth.findClient(approval.client)
    if (client === null)
      throw new OAuthError('invalid_client', 'the app is not registered any more', { status: 400 })
    return {
      ...approvalFromJson(approval, client),
      parameters: { ...approval.parameters, prompt: ['consent'] },
      notices: [noticeOf(request)],
    }
  }

  async function end(
    id: unknown,
    decision: Decision,
    to: string,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    if (!(await requests.decide(String(id), decision)))
      throw new OAuthError('invalid_request', 'the code was used or is too old; start again on the device')
    return reply.redirect(`${action}/${to}`, 303)
  }

  await pages.add('device', new URL('./device.eta', import.meta.url))
  await pages.add('device-end', new URL('./device-end.eta', import.meta.url))

  pages.serve({
    path: '/device',
    query: Type.Object({ user_code: Type.Optional(Type.String()) }),
    form: Type.Object({ user_code: Type.Optional(Type.String()) }),
    async show({ user_code: given = '' }, call) {
      const userCode = normalizeUserCode(given)
      return userCode === null
        ? askForCode(call, {})
        : askForCode(call, { userCode: displayUserCode(userCode), prefilled: true })
    },
    async submit({ user_code: typed = '' }, call) {
      browser.assertGenuine(call, call.wire, PURPOSE)
      const found = await findRequest(typed, call)
      if (found === null) return askForCode(call, { userCode: typed.slice(0, 20), error: REFUSED }, 400)
      return interactions.start(await approvalOf(found.request), 'device', { id: found.id }, call)
    },
  })
  for (const [path, allowed] of [
    ['/device/allowed', true],
    ['/device/denied', false],
  ] as const) {
    const show = async (_query: object, { reply }: PageCall) => reply.page('device-end', { allowed })
    pages.serve({ path, query: Type.Object({}), show })
  }

  oauth.register('outcome', 'device', {
    approved: async ({ state }, granted, { reply }) =>
      end(state['id'], { granted: grantedToJson(granted) }, 'allowed', reply),
    denied: async ({ state }, _error, { reply }) => end(state['id'], { denied: true }, 'denied', reply),
  })
}

/** §5.4: whoever sends people a code, or a link with one, would be let in with it. */
function noticeOf({ askedAt, address }: DeviceRequest): Message {
  return message(
    'Did you start this yourself? A device at {address} asked {minutes, plural, =0 {a moment ago} one {# minute ago} other {# minutes ago}}, and it will be let in, wherever it is. Deny if somebody sent you the code or the link.',
    { address, minutes: Math.floor((Date.now() - askedAt) / 60_000) },
  )
}
