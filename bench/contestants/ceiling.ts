// Owns the ceiling's place in the comparison: servers/ceiling.ts, started, and what is asked of it.

import { fileURLToPath } from 'node:url'
import { assertJwt, assertRefusesStranger, form, freePort, mint, scope, startServer } from '../contestant.ts'
import type { Contestant, Entry } from '../contestant.ts'

const script = fileURLToPath(new URL('../servers/ceiling.ts', import.meta.url))

const ask = (token: string) => form({ client_id: 'bench', client_secret: 'x', token })

export const ceiling: Entry = {
  name: 'ceiling',
  enter: async ({ nodeArgs, repeatedTokens }): Promise<Contestant> => {
    const port = await freePort()
    const env = { NODE_ENV: 'production' }
    const server = await startServer({ args: [...nodeArgs, script], port, env, readyPath: '/jwks' })

    const grant = form({ grant_type: 'client_credentials', client_id: 'bench', client_secret: 'x', scope })
    const tokens = await mint(port, '/token', grant, repeatedTokens)
    const [byCrypto = ''] = await mint(port, '/token-by-crypto', grant, 1)
    await assertJwt(port, '/jwks', tokens[0] ?? '')
    await assertJwt(port, '/jwks', byCrypto)
    await assertRefusesStranger(port, '/introspect', ask('forged'))

    return {
      ...server,
      rows: [
        {
          endpoint: 'client_credentials',
          label: 'bare Fastify: form POST, one ES256 signature by jose',
          format: 'jwt',
          baseline: 'ceiling',
          path: '/token',
          bodies: [grant],
          expectation: 'access_token',
        },
        {
          endpoint: 'client_credentials',
          label: 'bare Fastify: the same, signed by node:crypto',
          format: 'jwt',
          path: '/token-by-crypto',
          bodies: [grant],
          expectation: 'access_token',
        },
        {
          endpoint: 'introspection',
          label: 'bare Fastify: form POST, one ES256 verification by jose',
          format: 'jwt',
          baseline: 'ceiling',
          path: '/introspect',
          bodies: tokens.map(ask),
          expectation: 'active',
        },
      ],
    }
  },
}
