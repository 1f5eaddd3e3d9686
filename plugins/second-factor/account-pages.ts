/** The second factor on the account: a part of the page "Security", and pages on which an app is set up and codes are made. */
import type { FastifyReply } from 'fastify'
import { waitFor } from '../../src/http/wait.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import { ownRequest } from '../../src/services/users/ourselves.ts'
import type { AccountArea } from '../account/sections.ts'
import { STEPS } from '../browser/index.ts'
import type { PageCall } from '../pages/index.ts'
import type { FormTarget } from '../pages/models.ts'
import { createShownOnce } from '../pages/shown-once.ts'
import { NOT_RIGHT, SHOWN, type Factors } from './factors.ts'
import { totpForm, type TotpForm } from './totp-form.ts'

export interface FactorPart {
  /** When the app was set up; null for none, and where that cannot be read. */
  since: Date | null
  /** Whether no code of the app can be checked now, since a key of the server is missing. */
  isUnreadable: boolean
  /** Recovery codes that are left. */
  left: number
  addUri: string
  codesUri: string
  remove: FormTarget
  /** What was done; null for nothing. */
  done: Words | null
}

export interface RecoveryCodesPage extends FormTarget {
  /** Null before they are made. */
  codes: readonly string[] | null
  /** Whether there were none before. */
  isFirst: boolean
  left: number
  securityUri: string
}

const [SECURITY, ADD, REMOVE, CODES] = [
  '/security',
  '/security/authenticator',
  '/security/authenticator/remove',
  '/security/recovery-codes',
]
/** The id of its heading. */
const PART = 'second-factor-title'
/** So few that new ones should be made. */
const FEW = 3
const DONE: Readonly<Record<string, Words>> = {
  'factor-removed': message('The authenticator app is removed. You are not asked for its codes any more.'),
}

export function addAccountPages(factors: Factors): void {
  const { fastify, kernel, authenticators, recoveryCodes, guess } = factors
  const { account, browser, oauth } = fastify
  const issuer = new URL(oauth.issuer).host
  const shownOnce = createShownOnce(kernel, 'recovery-codes-shown')
  const area: AccountArea = account.addSecurity({
    name: 'factor',
    part: 'account-security-factor',
    async model(call): Promise<FactorPart> {
      const { userId } = area.sessionOf(call.request)
      const found = await authenticators.find(userId)
      const { done } = call.wire
      return {
        since: found?.since == null ? null : new Date(found.since),
        isUnreadable: found?.since === null,
        left: (await recoveryCodes.left(userId)) ?? 0,
        addUri: area.uri(ADD),
        codesUri: area.uri(CODES),
        remove: area.target(call, REMOVE),
        done: typeof done === 'string' && Object.hasOwn(DONE, done) ? DONE[done]! : null,
      }
    },
    async nextStep({ request }) {
      const { userId } = area.sessionOf(request)
      if (!(await authenticators.has(userId)))
        return {
          text: message('Set up an authenticator app, so that a stolen password is not enough.'),
          href: area.uri(ADD),
        }
      const left = (await recoveryCodes.left(userId)) ?? 0
      return left > FEW
        ? null
        : { text: message('Make new recovery codes: you have few left.'), href: area.uri(CODES) }
    },
  })

  async function showForm(call: PageCall, error: Words | null = null, status = 200): Promise<FastifyReply> {
    const { id, username } = await area.userOf(call)
    const secret = await authenticators.offer(area.sessionOf(call.request).sid, id)
    const totp: TotpForm = await totpForm(area.target(call, ADD), { secret, issuer, username }, error)
    return call.reply.page('account-authenticator', { totp, securityUri: area.uri(SECURITY) }, { status })
  }

  /** Makes new codes; the page that shows them takes them by the handle. */
  async function handOut(call: PageCall, handle?: string): Promise<string> {
    const session = area.sessionOf(call.request)
    const codes = JSON.stringify(await recoveryCodes.make(session.userId))
    return shownOnce.put(session.userId, codes, { session }, handle)
  }

  const toCodes = (
    { reply }: PageCall,
    handle: string,
    first: Readonly<Record<string, string>> = {},
  ): FastifyReply => reply.redirect(area.uri(CODES, { handle, ...first }), 303)

  const security = (call: PageCall): FastifyReply => call.reply.redirect(area.uri(SECURITY), 303)

  area.serve({
    path: `/account${ADD}` as const,
    query: Type.Object({}),
    form: Type.Object({ code: Type.Optional(Type.String()) }),
    async show(_query, call) {
      // Not from memory: it may have been removed at another process.
      if ((await authenticators.find(area.sessionOf(call.request).userId)) !== null) return security(call)
      return area.signInAgain(call, area.uri(ADD)) ?? showForm(call)
    },
    async submit({ code = '' }, call) {
      const { sid } = area.assertGenuine(call, ADD)
      const again = area.signInAgain(call, area.uri(ADD))
      if (again !== undefined) return again
      const user = await area.userOf(call)
      const add = async () => authenticators.add(sid, user.id, code)
      try {
        const isAdded = (await authenticators.find(user.id)) === null && (await guess(user, call, add))
        if (!isAdded && !(await authenticators.isRepeated(sid, user.id, code)))
          // It was set up elsewhere meanwhile.
          return (await authenticators.find(user.id)) === null
            ? await showForm(call, NOT_RIGHT, 403)
            : security(call)
        // The session has shown it, and goes on, also where the form is sent twice.
        await browser[STEPS].raise(call, area.sessionOf(call.request), SHOWN, ownRequest(), call.wire)
        const handle = shownOnce.handleOf({ session: area.sessionOf(call.request) }, call.wire)
        if (!isAdded) await shownOnce.untilPut(handle)
        return toCodes(call, isAdded ? await handOut(call, handle) : handle, { first: 'yes' })
      } catch (error) {
        const { advice, status } = waitFor(error, call)
        return showForm(call, advice, status)
      }
    },
    again: async (_form, call) => showForm(call),
  })
  area.serve({
    path: `/account${REMOVE}` as const,
    query: Type.Object({}),
    form: Type.Object({}),
    show: async (_query, call) => security(call),
    async submit(_form, call) {
      const { userId } = area.assertGenuine(call, REMOVE)
      const again = area.signInAgain(call, area.uri(SECURITY))
      if (again !== undefined) return again
      // Cut between the two, there is an app without codes, which people read and mend; and never codes without an app.
      await recoveryCodes.remove(userId)
      await authenticators.remove(userId)
      return call.reply.redirect(area.uri(SECURITY, { done: 'factor-removed' }, PART), 303)
    },
  })
  area.serve({
    path: `/account${CODES}` as const,
    query: Type.Object({ handle: Type.Optional(Type.String()), first: Type.Optional(Type.String()) }),
    form: Type.Object({}),
    async show({ handle = '', first }, call) {
      const session = area.sessionOf(call.request)
      const left = await recoveryCodes.left(session.userId)
      if (left === null) return security(call)
      const taken = await shownOnce.take(handle, { session })
      const codes = taken === null ? null : (JSON.parse(taken.secret) as string[])
      const isFirst = first !== undefined
      const model = { ...area.target(call, CODES), codes, isFirst, left, securityUri: area.uri(SECURITY) }
      return call.reply.page('account-recovery-codes', model)
    },
    async submit(_form, call) {
      const { userId } = area.assertGenuine(call, CODES)
      const again = area.signInAgain(call, area.uri(CODES))
      if (again !== undefined) return again
      return (await authenticators.find(userId)) !== null
        ? toCodes(call, await handOut(call))
        : security(call)
    },
  })
}
