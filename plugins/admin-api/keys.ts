/** `/keys`: the signing keys, their rotation and their end. */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { isAbout } from '../../src/protocol/errors.ts'
import { Type } from '../../src/protocol/schema.ts'
import { keyToWire } from '../../src/services/keys/key-wire.ts'
import type { KeyState } from '../../src/services/keys/key-ring.ts'
import type { KeyRecord } from '../../src/services/keys/ring-key.ts'
import { ALL } from './access.ts'
import { Instant } from './instants.ts'
import type { AdminApi } from './operations.ts'
import { notFound } from '../programs/refusals.ts'
import { memberProblem } from './refusals.ts'

const STATES = ['next', 'current', 'retiring', 'revoked'] as const satisfies readonly KeyState[]
const KeySchema = Type.Object(
  {
    kid: Type.String(),
    alg: Type.String(),
    state: Type.Enum(STATES),
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

  function toWire(key: KeyRecord) {
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
    body: Type.Object({ alg: Type.String({ description: 'Of a key that there is, such as RS256.' }) }),
    answer: { status: 201, schema: KeySchema },
    async handle(_query, { body }) {
      const alg = String(body['alg'])
      if (!keys.algorithms.includes(alg))
        throw memberProblem('alg', `must be one of ${keys.algorithms.join(', ')}`)
      return toWire(await keys.rotate(alg))
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
      return keys.revoke(kid).then(toWire, (error: unknown) => {
        throw isAbout(error, 'kid') ? notFound('published key') : error
      })
    },
  })
}
