/**
 * Authorization responses as JWTs (JARM): answers and errors alike leave as one `response`, signed, and encrypted for who is
 * registered so. So who carries them can neither change them nor take them for another app's.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { AnsweredRequest, ResponseMode } from '../../src/doors/approval.ts'
import type { Client } from '../../src/doors/client.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import {
  assertEncryptable,
  encryptionMembers,
  encryptionMetadata,
  encryptionOf,
} from '../../src/protocol/encryption.ts'
import { Type } from '../../src/protocol/schema.ts'
import { provideFor } from '../../src/services/clients/registered-algorithms.ts'
import { defaultModeOf } from '../../src/services/tokens/answer-address.ts'

const ALGORITHM = 'authorization_signed_response_alg'
/** §3. */
const DEFAULT_ALGORITHM = 'RS256'
/** Seconds in which a client must have read it (§2.1: ten minutes at most). */
const LIFETIME = 600
/** What carries the JWT (§2.3); `jwt` goes where answers of its response type go by themselves. */
const CARRIERS = { 'query.jwt': 'query', 'fragment.jwt': 'fragment', 'form_post.jwt': 'form_post' } as const

async function jarm(fastify: FastifyInstance): Promise<void> {
  const { oauth, log } = fastify
  const { clientEncryption, doors } = kernelOf(fastify)

  const member = Type.Partial(Type.Object({ [ALGORITHM]: Type.String({ maxLength: 200, open: true }) }))
  oauth.extendClientMetadata(member, (metadata) => provideFor(metadata, ALGORITHM, { keys: oauth.keys, log }))
  oauth.extendClientMetadata(encryptionMembers('authorization'), (metadata) =>
    assertEncryptable(metadata, 'authorization'),
  )
  oauth.extend('metadata', async () => ({
    authorization_signing_alg_values_supported: oauth.keys.algorithms,
    ...encryptionMetadata('authorization'),
  }))

  /** The answer as the client gets it, for ten minutes and for nobody else. */
  async function responseOf(client: Client, answer: object): Promise<string> {
    const { clientId, metadata } = client
    const claims = { ...answer, aud: clientId, exp: Math.floor(Date.now() / 1000) + LIFETIME }
    const algorithm = (metadata[ALGORITHM] as string | undefined) ?? DEFAULT_ALGORITHM
    const jwt = await oauth.signStatement(claims, { typ: 'authorization-response+jwt', algorithm })
    const encryption = encryptionOf(metadata, 'authorization')
    return encryption === undefined
      ? jwt
      : clientEncryption.encryptTo(client, jwt, { ...encryption, cty: 'JWT' })
  }

  const by = (carrier: (request: AnsweredRequest) => string, inQuery: boolean): ResponseMode => ({
    inQuery,
    async send(reply, request, answer) {
      const response = await responseOf(request.client, answer)
      return oauth.owners('responseMode').get(carrier(request))!.send(reply, request, { response })
    },
  })
  for (const [mode, carrier] of Object.entries(CARRIERS))
    oauth.register(
      'responseMode',
      mode,
      by(() => carrier, carrier === 'query'),
    )
  oauth.register(
    'responseMode',
    'jwt',
    by(({ responseType }) => defaultModeOf(doors, responseType), false),
  )

  /** Before anybody is asked, or anything is spent, for an answer that could not be told. */
  async function assertReachable(client: Client, mode: unknown): Promise<void> {
    const encryption = encryptionOf(client.metadata, 'authorization')
    if (encryption !== undefined && (mode === 'jwt' || Object.hasOwn(CARRIERS, String(mode))))
      await clientEncryption.assertReachable(client, encryption)
  }
  oauth.add('authorizationCheck', {
    name: 'jarm',
    check: async ({ client, wire }) => assertReachable(client, wire['response_mode']),
    review: async ({ client, responseMode }) => assertReachable(client, responseMode),
  })
}

export default fp(jarm, {
  name: 'latchkey-jarm',
  dependencies: ['latchkey-oauth', 'latchkey-authorize', 'latchkey-response-modes'],
})
