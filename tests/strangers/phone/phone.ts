/** Asks people on their telephone: an app there is told of each request by a push service, and opens the page where they decide. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'latchkey'

interface Phone {
  token: string
}

export default async function phone(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { PUSH_SERVICE: service } = oauth.settings(
    Type.Object({ PUSH_SERVICE: Type.String({ description: 'where telephones are told' }) }),
  )
  const phones = oauth.users.records<Phone>('phones', { sealed: true })

  // The app on the telephone, once its owner has signed in to it.
  oauth.registerEndpoint({
    path: '/phones',
    caller: 'bearer',
    scopes: ['openid'],
    body: 'json',
    parameters: Type.Object({ token: Type.String({ minLength: 1, maxLength: 200 }) }),
    async handle({ token }, call) {
      return { registered: await phones.put(call.token.subject, 'one', { token }) }
    },
  })

  oauth.deliver({
    kind: 'phone-push',
    payload: Type.Object({
      user: Type.String(),
      text: Type.String(),
      uri: Type.String(),
      until: Type.Number(),
    }),
    async deliver({ user, text, uri, until }) {
      const found = await phones.get(user, 'one')
      if (found === null || until < Date.now()) return
      const body = JSON.stringify({ to: found.value.token, text, uri })
      const { ok, status } = await oauth.fetch(service, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
      if (!ok) throw new Error(`the push service answered with ${status}`)
    },
  })

  oauth.add('authenticationDevice', {
    name: 'phone',
    async reach({ user, client, uri, bindingMessage = '', expiresAt }) {
      if ((await phones.get(user.id, 'one')) === null) return false
      const text = `${client.metadata['client_name'] ?? client.clientId}: ${bindingMessage}`
      await oauth.enqueue('phone-push', { user: user.id, text, uri, until: expiresAt })
      return true
    },
  })
}
