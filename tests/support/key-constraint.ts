/** A sender constraint for tests: who names a key in a header holds it. `refused` is a key that nobody may have. */
import type { FastifyInstance } from 'fastify'
import type { SenderConstraint } from '../../src/doors/sender-constraint.ts'
import { OAuthError } from '../../src/protocol/errors.ts'

export const KEY_CONSTRAINT: SenderConstraint = {
  scheme: 'Key',
  confirmation: 'key',
  challenge: { keys: 'any' },
  metadata: { keys_supported: ['any'] },
  async bind({ request: { headers } }) {
    if (headers['x-key'] === 'refused')
      throw new OAuthError('invalid_key', 'this key is refused', { headers: { 'x-hint': 'another' } })
    return headers['x-key'] as string | undefined
  },
  async verify({ headers }, { confirmation }) {
    if (headers['x-key'] === 'away') throw new OAuthError('temporarily_unavailable', 'nobody can tell')
    if (headers['x-key'] !== confirmation)
      throw new OAuthError('invalid_key', 'the key is another', { headers: { 'x-hint': 'another' } })
  },
}

export function addKeyConstraint({ oauth }: FastifyInstance): void {
  oauth.add('senderConstraint', KEY_CONSTRAINT)
}
