/** Whom an authorization request is from. Who is wrong here sees a page. */
import type { FastifyInstance } from 'fastify'
import type { Client } from '../../src/doors/client.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { singleParameter } from '../../src/protocol/parameters.ts'
import type { SentForm } from '../../src/protocol/wire.ts'

const MAX_CLIENT_ID = 256

export async function findRecipient(
  oauth: FastifyInstance['oauth'],
  { wire, repeated }: SentForm,
): Promise<Client> {
  const clientId = singleParameter('client_id', wire, repeated, MAX_CLIENT_ID)
  const client = await oauth.admitClient(clientId)
  if (client === null)
    throw new OAuthError('invalid_client', 'no app is registered under this client_id', { status: 400 })
  return client
}
