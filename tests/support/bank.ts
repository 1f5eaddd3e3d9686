/** The types of authorization details (RFC 9396) of a bank, and apps that may ask for them. */
import type { FastifyInstance } from 'fastify'
import { message } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import { WEB } from './sign-in.ts'

const Texts = (pattern: string) => Type.Array(Type.String({ pattern }), { minItems: 1, maxItems: 10 })

export function addBank({ oauth }: FastifyInstance): void {
  oauth.register('authorizationDetailsType', 'payment', {
    schema: Type.Object({
      amount: Type.String({ pattern: '^\\d{1,9}\\.\\d\\d$' }),
      currency: Type.String({ pattern: '^[A-Z]{3}$' }),
      creditor: Type.String({ minLength: 1, maxLength: 70 }),
    }),
    describe: ({ amount, currency, creditor }) =>
      message('Pay {amount} {currency} to {creditor}', {
        amount: String(amount),
        currency: String(currency),
        creditor: String(creditor),
      }),
    once: true,
  })
  oauth.register('authorizationDetailsType', 'accounts', {
    schema: Type.Object({
      actions: Texts('^(?:balances|transactions)$'),
      accounts: Type.Optional(Texts('^[A-Z]{2}\\d{4,30}$')),
    }),
    describe: ({ actions, accounts = ['all accounts'] }) =>
      `See ${[actions].flat().join(' and ')} of ${[accounts].flat().join(' and ')}`,
  })
  oauth.register('authorizationDetailsType', 'budget', {
    schema: Type.Object({ most: Type.Integer({ minimum: 1 }) }),
    describe: ({ most }) => `Spend up to ${String(most)} EUR`,
    isWithin: (less, approved) => Number(less['most']) <= Number(approved['most']),
  })
}

export const BANK = {
  ...WEB,
  client_id: 'bank',
  authorization_details_types: ['payment', 'accounts', 'budget', 'gone'],
}
export const PAYMENT = { type: 'payment', amount: '100.00', currency: 'EUR', creditor: 'Book Shop' }
export const ACCOUNTS = {
  type: 'accounts',
  actions: ['balances', 'transactions'],
  accounts: ['DE1234', 'DE5678'],
}
export const BUDGET = { type: 'budget', most: 100 }
export const asking = (...details: object[]) => ({ authorization_details: JSON.stringify(details) })
