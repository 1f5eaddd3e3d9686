/**
 * The offer of a passkey on the overview of the account: to who signed in with a password and has none, until they add one or do not want to hear of it in
 * this browser. It stands in nobody's way to an app.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from '../../src/protocol/schema.ts'
import type { RelyingParty } from '../../src/protocol/relying-party.ts'
import type { AccountArea } from '../account/sections.ts'
import type { Passkeys } from './passkeys.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'account-passkey-offer': { addUri: string; origin: string; notNow: FormTarget }
  }
}

const PART = 'account-passkey-offer'
const NOT_NOW = '/passkeys/not-now'
/** Seconds. */
const A_YEAR = 31_536_000

export async function addOffer(
  { account, oauth, pages }: FastifyInstance,
  { origin }: RelyingParty,
  passkeys: Passkeys,
): Promise<void> {
  const isSecure = origin.startsWith('https:')
  const cookie = `${isSecure ? '__Host-' : ''}latchkey-no-passkey-offer=yes`
  const path = isSecure ? '/' : oauth.config.basePath || '/'
  const attributes = `Path=${path}; Max-Age=${A_YEAR}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  const isUnwanted = ({ headers }: FastifyRequest): boolean =>
    (headers.cookie ?? '').split(/; */).includes(cookie)

  await pages.add(PART, new URL('../../templates/account-passkey-offer.eta', import.meta.url))
  const area: AccountArea = account.addNotice({
    name: 'passkeys',
    part: PART,
    async model(call) {
      const { amr, userId } = area.sessionOf(call.request)
      if (!amr.includes('pwd') || isUnwanted(call.request)) return null
      if ((await passkeys.list(userId)).length > 0) return null
      return {
        addUri: area.uri('/security', undefined, 'passkeys'),
        origin,
        notNow: area.target(call, NOT_NOW),
      }
    },
  })
  area.serve({
    path: `/account${NOT_NOW}`,
    query: Type.Object({}),
    form: Type.Object({}),
    show: async (_query, { reply }) => reply.redirect(area.uri(''), 303),
    async submit(_form, call) {
      area.assertGenuine(call, NOT_NOW)
      return call.reply.header('set-cookie', `${cookie}; ${attributes}`).redirect(area.uri(''), 303)
    },
  })
}
