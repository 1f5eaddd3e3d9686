/** `/keys`: the signing keys, their rotation and their end. */
import type { FastifyInstance } from 'fastify'
import { answer } from '../../src/doors/answer.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { metadataError } from '../../src/protocol/errors.ts'
import { Type } from '../../src/protocol/schema.ts'
import { keyToWire } from '../../src/services/keys/key-wire.ts'
import { ALL } from './access.ts'
import type { AdminApi } from './operations.ts'
import { notFound } from './not-found.ts'

const Instant = () => Type.String({ format: 'date-time' })
const KeySchema = Type.Object(
  {
    kid: Type.String(),
    alg: Type.String(),
    state: Type.String({ description: 'next, current, retiring or revoked.' }),
    store: Type.String({ description: 'Where its private part is.' }),
    created_at: Instant(),
    signs_from: Instant(),
    retires_at: Type.Optional(Instant()),
  },
  { title: 'Key' },
)
const ONE = { status: 200, schema: KeySchema } as const

export function addKeys(fastify: FastifyInstance, api: AdminApi): void {
  const { keys } = kernelOf(fastify)
  const toWire = (key: Parameters<typeof keyToWire>[1]) => {
    const { retires_at: until, ...known } = keyToWire(keys, key)
    return until === null ? known : { ...known, retires_at: until }
  }

  api.serve({
    method: 'GET',
    path: '/keys',
    name: 'listKeys',
    summary: 'Signing keys that are published: next, current and retiring',
    scope: ALL,
    answer: { status: 200, schema: Type.Object({ keys: Type.Array(KeySchema) }) },
    handle: async () => ({ keys: keys.keys().map(toWire) }),
  })
  api.serve({
    method: 'POST',
    path: '/keys',
    name: 'rotateKey',
    summary: 'Publishes the next key of an algorithm; it signs once everybody has had time to fetch it',
    scope: ALL,
    body: Type.Object({ alg: Type.String() }),
    answer: { status: 201, schema: KeySchema },
    async handle(_query, { body: { alg } }) {
      if (typeof alg !== 'string' || !keys.algorithms.includes(alg))
        throw metadataError('alg', `must be one of ${keys.algorithms.join(', ')}`)
      return answer({ status: 201, body: toWire(await keys.rotate(alg)) })
    },
  })
  api.serve({
    method: 'DELETE',
    path: '/keys/:kid',
    name: 'revokeKey',
    summary: 'Ends a key that others have, with all that it signed; if it signs, another does at once',
    scope: ALL,
    answer: ONE,
    async handle(_query, { path: { kid = '' } }) {
      if (keys.find(kid) === undefined) throw notFound('published key')
      return toWire(await keys.revoke(kid))
    },
  })
}
