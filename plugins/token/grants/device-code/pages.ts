/**
 * The pages for people (RFC 8628 §3.3): one takes the code, then sign-in and consent are the server's own, then one says
 * how it ended. Consent is asked every time, since any device can pose as any client (§5.4, §5.6).
 */
import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ApprovalRequest } from '../../../../src/doors/approval.ts'
import type { BrowserCall, EndedInteraction } from '../../../../src/doors/interaction.ts'
import { approvalFromJson, grantedToJson } from '../../../../src/doors/stored-facts.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { message, type Message, type Words } from '../../../../src/protocol/message.ts'
import { networkOf } from '../../../../src/protocol/network.ts'
import { Type } from '../../../../src/protocol/schema.ts'
import { DEVICE_CODE } from '../../../../src/services/clients/client-kinds.ts'
import { isOfClient } from '../../../../src/services/clients/same-client.ts'
import { ofUser } from '../../../../src/services/throttle/throttle-limits.ts'
import type { PageCall } from '../../../pages/index.ts'
import type { FormTarget } from '../../../pages/models.ts'
import type { Decision } from '../decision.ts'
import type { DeviceRequest, DeviceRequests } from './requests.ts'
import { displayUserCode, normalizeUserCode } from './user-code.ts'

declare module '../../../pages/models.ts' {
  interface Pages {
    device: DevicePage
    'device-end': { allowed: boolean }
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

const ELSEWHERE = message(
  'The device is in another network than this browser, as when you use mobile data. Deny if both should be in the same one.',
)

export async function addPages(fastify: FastifyInstance, requests: DeviceRequests): Promise<void> {
  const { oauth, browser, interactions, pages } = fastify
  const action = `${oauth.config.basePath}/device`
  const throttle = oauth.throttle(PURPOSE, {
    account: TRIES,
    network: TRIES,
    everywhere: TRIES,
    ownerOf: ofUser,
  })

  function askForCode(call: PageCall, page: Partial<DevicePage>, status = 200): FastifyReply {
    const form = { action, csrfToken: browser.csrfToken(call, PURPOSE) }
    return call.reply.page(
      'device',
      { ...form, userCode: '', prefilled: false, error: null, ...page },
      { status },
    )
  }

  /** The open request of the code; a failure counts against the network that it came from, and who is signed in there. */
  async function findRequest(typed: string, call: PageCall) {
    const account = (await browser.session(call.request))?.userId ?? null
    const attempt = await throttle.attempt(account, call.request.ip)
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

  async function approvalOf(request: DeviceRequest, address: string): Promise<ApprovalRequest> {
    const { approval, askedAt } = request
    const client = await oauth.findClient(approval.client)
    if (client === null || !isOfClient(approval.client, askedAt, client))
      throw new OAuthError('invalid_client', 'the app is not registered any more', { status: 400 })
    if (!client.grantTypes.has(DEVICE_CODE))
      throw new OAuthError('unauthorized_client', 'the app may not ask in this way any more')
    return {
      ...approvalFromJson(approval, client),
      parameters: { ...approval.parameters, prompt: ['consent'] },
      notices: [noticeOf(request), ...(isElsewhere(request.address, address) ? [ELSEWHERE] : [])],
    }
  }

  async function end(
    { state }: EndedInteraction,
    decision: Decision,
    call: BrowserCall,
  ): Promise<FastifyReply> {
    const user = (await browser.session(call.request))?.userId
    const { id, entry } = state as { id: string; entry: string }
    if (!(await requests.decide(id, decision, { entry, ...(user === undefined ? {} : { user }) })))
      throw new OAuthError('invalid_request', 'the code was used or is too old; start again on the device')
    return call.reply.redirect(`${action}/${'granted' in decision ? 'allowed' : 'denied'}`, 303)
  }

  const inDirectory = (file: string): URL => new URL(`../../../../templates/${file}`, import.meta.url)
  for (const page of ['device', 'device-end'] as const) await pages.add(page, inDirectory(`${page}.eta`))
  await pages.addAsset('device.css', inDirectory('assets/device.css'))

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
      return interactions.start(
        await approvalOf(found.request, call.request.ip),
        'device',
        { id: found.id, entry: randomUUID() },
        call,
      )
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
    approved: async (interaction, granted, call) =>
      end(interaction, { granted: grantedToJson(granted) }, call),
    denied: async (interaction, _error, call) => end(interaction, { denied: true }, call),
  })
}

/** §5.4: whoever sends people a code, or a link with one, would be let in with it. */
function noticeOf({ askedAt, address }: DeviceRequest): Message {
  return message(
    'Did you start this yourself? A device at {address} asked {minutes, plural, =0 {a moment ago} one {# minute ago} other {# minutes ago}}, and it will be let in, wherever it is. Deny if somebody sent you the code or the link.',
    { address, minutes: Math.floor((Date.now() - askedAt) / 60_000) },
  )
}

/** Of two addresses of one kind: a device may have the one, and the browser beside it the other. */
function isElsewhere(device: string, browser: string): boolean {
  const [one, other] = [networkOf(device), networkOf(browser)]
  return one.includes(':') === other.includes(':') && one !== other
}
