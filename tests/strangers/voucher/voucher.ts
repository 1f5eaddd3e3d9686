/**
 * A shop's plugin: vouchers, each good for one token. It adds a grant, the endpoints that give and cancel vouchers, a
 * member of client metadata, an error of its own and a member of the token response.
 */
import type { FastifyInstance } from 'fastify'
import { OAuthError, Repeatable, Type } from 'latchkey'

const GRANT = 'urn:example:voucher'
/** Seconds. */
const LIFETIME = 600

interface Voucher {
  readonly value: number
  readonly subject?: string
}

export default async function vouchers(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const stored = oauth.artifacts('voucher', { lifetime: LIFETIME })

  oauth.extendClientMetadata(
    Type.Object({ voucher_limit: Type.Optional(Type.Integer({ minimum: 0 })) }),
    ({ voucher_limit: limit = 0, client_name: name }) => {
      if ((limit as number) > 100 && name === undefined)
        throw new OAuthError('invalid_client_metadata', 'voucher_limit over 100 needs a client_name')
    },
  )

  oauth.registerEndpoint({
    path: '/vouchers',
    metadata: 'voucher_endpoint',
    parameters: Type.Object({
      value: Type.String({ pattern: '^\\d{1,6}$' }),
      subject: Type.Optional(Type.String()),
    }),
    async handle({ value, subject }) {
      const voucher: Voucher = { value: Number(value), ...(subject === undefined ? {} : { subject }) }
      return { voucher: await stored.put({ ...voucher }) }
    },
  })

  oauth.registerEndpoint({
    path: '/vouchers/cancel',
    metadata: 'voucher_cancellation_endpoint',
    parameters: Type.Object({ token: Type.String() }),
    async handle({ token }) {
      const id = (await oauth.verify(token))?.authorization?.id
      if (id === undefined) throw new OAuthError('invalid_token', 'no such token')
      await oauth.revoke(id, 'the voucher was cancelled')
      return { cancelled: true }
    },
  })

  oauth.registerGrant({
    type: GRANT,
    parameters: Type.Object({ voucher: Type.String(), resource: Type.Optional(Repeatable()) }),
    async authorize({ voucher: handle, resource = [] }, { client }) {
      const voucher = (await stored.get(handle)) as Voucher | null
      if (voucher === null) throw new OAuthError('invalid_grant', 'no such voucher')
      const limit = Number(client.metadata['voucher_limit'] ?? 0)
      if (voucher.value > limit)
        throw new OAuthError('voucher_over_limit', `the client may redeem up to ${limit}`, { status: 403 })
      return {
        scopes: client.grantableScopes,
        resources: resource,
        parameters: { value: voucher.value },
        spends: [{ kind: 'voucher', handle }],
        ...(voucher.subject === undefined ? {} : { subject: voucher.subject }),
      }
    },
  })

  oauth.extend('tokenResponse', ['voucher_value'], async ({ parameters }) => ({
    voucher_value: parameters?.['value'],
  }))
  fastify.get('/treasury', { config: { scope: 'spend' } }, async ({ token }) => ({ spender: token.subject }))
}
