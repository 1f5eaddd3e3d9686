/** Checks a presented client secret, and brings its hash to the first SECRET_KEY on the way. */
import type { FastifyBaseLogger } from 'fastify'
import type { Client } from '../../doors/client.ts'
import { statements } from '../../store/clients.ts'
import type { Database } from '../../store/database.ts'
import type { ChangeFeed } from '../change-feed.ts'
import type { ClientSecrets, StoredSecret } from './client-secrets.ts'
import { secretsOf } from './served-client.ts'

/**
 * Whether `secret` is the client's now. Takes the same time when there is no client, also for many at once where
 * `claimed` names the client_id of the request.
 */
export type CheckSecret = (client: Client | null, secret: string, claimed?: string) => Promise<boolean>

const MAX_LENGTH = 1024

export interface SecretCheckOptions {
  database: Database
  feed: ChangeFeed
  secrets: ClientSecrets
  log: FastifyBaseLogger
}

export function createSecretCheck({ database, feed, secrets, log }: SecretCheckOptions): CheckSecret {
  /** Behind the request: losing it costs nothing, the next request does it again. */
  async function rehash(clientId: string, secret: string, found: StoredSecret): Promise<void> {
    const hash = secrets.rehash(secret, found)
    if (hash === undefined) return
    try {
      await database.query(statements.rehashSecret, [found.id, found.hash, hash])
      await feed.announce('client', clientId)
    } catch (error) {
      log.warn({ err: error }, 'a client secret could not be hashed under the new SECRET_KEY yet')
    }
  }

  return async (client, secret, claimed) => {
    if (secret.length > MAX_LENGTH) return false
    const found = await secrets.verify(secret, secretsOf(client), Date.now(), claimed)
    if (found === undefined || client === null) return false
    void rehash(client.clientId, secret, found)
    return true
  }
}
