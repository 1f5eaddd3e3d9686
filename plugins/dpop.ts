/**
 * DPoP (RFC 9449): whoever asks for a token proves that they hold a key, and the token is then good for who holds it. What a
 * proof must be is in `require-scope/dpop/`, the same for APIs elsewhere; here are what the server adds: tokens and codes are
 * bound, proofs are used once over all processes, and nonces are the same in each.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { kernelOf } from '../src/http/kernel-of.ts'
import { mtlsOriginOf } from '../src/http/mtls-origin.ts'
import type { Client } from '../src/doors/client.ts'
import { Type } from '../src/protocol/schema.ts'
import { describeDpop } from './require-scope/dpop/dpop.ts'
import { createNonces } from './require-scope/dpop/nonces.ts'
import { createProofs, DPOP_ALGORITHMS, type Proofs } from './require-scope/dpop/proofs.ts'

/** The member of the metadata that says by which algorithms. */
const OFFERED = 'dpop_signing_alg_values_supported'

async function dpop(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { config, doors, profiles } = kernelOf(fastify)
  const { OIDC_REQUIRE_DPOP_NONCE: isRequired } = config
  const origin = mtlsOriginOf(fastify)
  let proofs: Proofs
  fastify.addHook('onReady', async () => {
    proofs = createProofs({
      origins: [new URL(oauth.issuer).origin, ...(origin === undefined ? [] : [origin])],
      algorithms: DPOP_ALGORITHMS,
      nonces: createNonces(await oauth.secret('dpop-nonces'), Date.now),
      once: async (proof, until) => oauth.once('dpop', proof, until),
      now: Date.now,
    })
  })
  const needsNonce = (client: Client | null): boolean =>
    isRequired || client?.metadata['require_dpop_nonce'] === true
  /** By the rules that this client is held to. */
  function algorithmsOf(client: Client | null): readonly string[] {
    const demands = client === null ? [] : doors.all('proofRule').map(({ narrow }) => narrow(client) ?? {})
    return DPOP_ALGORITHMS.filter((one) =>
      demands.every(({ algorithms = DPOP_ALGORITHMS }) => algorithms.includes(one)),
    )
  }
  /** By what OIDC_PROFILE leaves of them, which is known once all plugins are there. */
  const offered = () => describeDpop(profiles.offered({ [OFFERED]: DPOP_ALGORITHMS })[OFFERED] as string[])

  oauth.add('parameter', { name: 'dpop_jkt', schema: Type.String({ pattern: '^[\\w-]{43}$' }), kept: true })
  oauth.add('senderConstraint', {
    ...describeDpop(DPOP_ALGORITHMS),
    get challenge() {
      return offered().challenge
    },
    get metadata() {
      return offered().metadata
    },
    requestParameter: 'dpop_jkt',
    bind({ request, reply, client }) {
      if (request.headers['dpop'] === undefined) return undefined
      return proofs.assert(request, reply, { nonce: needsNonce(client), algorithms: algorithmsOf(client) })
    },
    async verify(request, { value, confirmation, claims }, reply) {
      const client = await oauth.findClient(String(claims['client_id']))
      const demanded = { nonce: needsNonce(client), algorithms: algorithmsOf(client) }
      await proofs.assert(request, reply, { token: value, thumbprint: confirmation, ...demanded })
    },
  })
}

export default fp(dpop, { name: 'latchkey-dpop', dependencies: ['latchkey-oauth'] })
