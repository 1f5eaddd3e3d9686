/** CIBA on the account: what waits for an answer, at the top of the overview, and the code that apps have to know. */
import type { FastifyInstance } from 'fastify'
import { message, type Words } from '../../../../src/protocol/message.ts'
import { Type } from '../../../../src/protocol/schema.ts'
import type { AccountArea } from '../../../account/sections.ts'
import { faceOf } from '../../../pages/client-view.ts'
import type { FormTarget } from '../../../pages/models.ts'
import { APPROVE } from './devices.ts'
import type { BackchannelRequests } from './requests.ts'
import type { UserCodes } from './user-codes.ts'

declare module '../../../pages/models.ts' {
  interface Pages {
    'account-approvals': ApprovalsPart
    'account-security-approvals': ApprovalCodePart
  }
}

interface ApprovalsPart {
  requests: readonly { app: string; bindingMessage: string | null; since: Date; uri: string }[]
}

interface ApprovalCodePart extends FormTarget {
  hasCode: boolean
  /** What was done, or was not; null for nothing. */
  done: { kind: 'success' | 'alert'; text: Words } | null
}

const [SECURITY, CODE] = ['/security', '/security/approval-code']
/** The id of its heading. */
const PART = 'security-approvals'
const DONE: Readonly<Record<string, NonNullable<ApprovalCodePart['done']>>> = {
  'approval-code-set': { kind: 'success', text: message('The code is set. Give it to apps that may ask you.') },
  'approval-code-removed': { kind: 'success', text: message('The code is removed: any app that is registered here may ask you.') },
  'approval-code-unfit': { kind: 'alert', text: message('A code has 4 to 64 characters.') },
} // prettier-ignore

export async function addAccountPages(
  fastify: FastifyInstance,
  requests: BackchannelRequests,
  userCodes: UserCodes,
): Promise<void> {
  const { account, oauth, pages } = fastify
  for (const part of ['account-approvals', 'account-security-approvals'] as const)
    await pages.add(part, new URL(`../../../../templates/${part}.eta`, import.meta.url))

  async function nameOf(clientId: string): Promise<string> {
    const client = await oauth.findClient(clientId)
    return client === null ? clientId : faceOf(client).name
  }

  const overview = account.addNotice({
    name: 'approvals',
    part: 'account-approvals',
    async model(call): Promise<ApprovalsPart | null> {
      const open = await requests.listOpen(overview.sessionOf(call.request).userId)
      if (open.length === 0) return null
      const shown = open.map(async ({ id, approval, askedAt }) => ({
        app: await nameOf(approval.client),
        bindingMessage: approval.bindingMessage ?? null,
        since: new Date(askedAt),
        uri: `${oauth.config.basePath}${APPROVE}?${new URLSearchParams({ id }).toString()}`,
      }))
      return { requests: await Promise.all(shown) }
    },
  })

  const area: AccountArea = account.addSecurity({
    name: 'approvals',
    part: 'account-security-approvals',
    async model(call): Promise<ApprovalCodePart> {
      const { done } = call.wire
      return {
        ...area.target(call, CODE),
        hasCode: await userCodes.has(area.sessionOf(call.request).userId),
        done: typeof done === 'string' && Object.hasOwn(DONE, done) ? DONE[done]! : null,
      }
    },
  })
  area.serve({
    path: `/account${CODE}` as const,
    query: Type.Object({}),
    form: Type.Object({
      approval_code: Type.Optional(Type.String({ maxLength: 1000 })),
      remove: Type.Optional(Type.String()),
    }),
    show: async (_query, { reply }) => reply.redirect(area.uri(SECURITY), 303),
    async submit({ approval_code: code = '', remove }, call) {
      const { userId } = area.assertGenuine(call, CODE)
      const again = area.signInAgain(call, area.uri(SECURITY))
      if (again !== undefined) return again
      const to = (done: string) =>
        call.reply.redirect(area.uri(SECURITY, { done: `approval-code-${done}` }, PART), 303)
      if (remove !== undefined) {
        await userCodes.remove(userId)
        return to('removed')
      }
      return to((await userCodes.set(userId, code)) ? 'set' : 'unfit')
    },
  })
}
