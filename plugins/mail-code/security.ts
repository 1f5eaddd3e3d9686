/** What the account says of codes by mail, on the page "Security". */
import type { FastifyInstance } from 'fastify'
import type { AccountArea } from '../account/sections.ts'
import { verifiedAddressOf } from '../mail/verified-address-of.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'account-security-mail-code': MailCodePart
  }
}

interface MailCodePart {
  /** Where codes go; null where no address is confirmed. */
  email: string | null
  addressUri: string
}

export async function addSecurity({ account, pages }: FastifyInstance): Promise<void> {
  const part = 'account-security-mail-code'
  await pages.add(part, new URL(`../../templates/${part}.eta`, import.meta.url))
  const area: AccountArea = account.addSecurity({
    name: 'mail-code',
    part,
    model: async (call): Promise<MailCodePart> => ({
      email: verifiedAddressOf(await area.userOf(call)),
      addressUri: area.uri('/email'),
    }),
  })
}
