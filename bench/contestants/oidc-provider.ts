// Owns the peer's place in the comparison: servers/oidc-provider.ts, started, and what is asked of it. It does
// not introspect its JWT access tokens, so introspection is measured with its opaque ones.

import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { assertChecksSecret, assertJwt, assertRefusesStranger, form, freePort, mint } from '../contestant.ts'
import { scope, startServer } from '../contestant.ts'
import type { Contestant, Entry } from '../contestant.ts'

const script = fileURLToPath(new URL('../servers/oidc-provider.ts', import.meta.url))
const introspection = '/token/introspection'

export const oidcProvider: Entry = {
  name: 'oidc-provider',
  enter: async ({ nodeArgs, createDatabase, repeatedTokens }): Promise<Contestant> => {
    const port = await freePort()
    const secret = randomBytes(32).toString('base64url')
    const env = {
      NODE_ENV: 'production',
      DATABASE_URL: await createDatabase('oidc_provider'),
      CLIENT_SECRET: secret,
      SCOPE: scope,
    }
    const server = await startServer({ args: [...nodeArgs, script], port, env, readyPath: '/jwks' })

    const grant = (client_id: string, client_secret = secret) =>
      form({ grant_type: 'client_credentials', client_id, client_secret, scope })
    const ask = (token: string, client_secret = secret) =>
      form({ client_id: 'opaque', client_secret, token, token_type_hint: 'access_token' })
    const [jwt = ''] = await mint(port, '/token', grant('jwt'), 1)
    const opaque = await mint(port, '/token', grant('opaque'), repeatedTokens)
    await assertJwt(port, '/jwks', jwt)
    await assertChecksSecret(port, '/token', grant('jwt', 'wrong'))
    await assertChecksSecret(port, introspection, ask(opaque[0] ?? '', 'wrong'))
    await assertRefusesStranger(port, introspection, ask('forged'))

    return {
      ...server,
      rows: [
        {
          endpoint: 'client_credentials',
          label: 'oidc-provider, JWT',
          format: 'jwt',
          baseline: 'peer',
          path: '/token',
          bodies: [grant('jwt')],
          expectation: 'access_token',
        },
        {
          endpoint: 'client_credentials',
          label: 'oidc-provider, opaque',
          format: 'opaque',
          baseline: 'peer',
          path: '/token',
          bodies: [grant('opaque')],
          expectation: 'access_token',
        },
        {
          endpoint: 'introspection',
          label: 'oidc-provider, opaque',
          format: 'opaque',
          baseline: 'peer',
          path: introspection,
          bodies: opaque.map((token) => ask(token)),
          expectation: 'active',
        },
      ],
    }
  },
}
