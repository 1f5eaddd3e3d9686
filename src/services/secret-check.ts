/** Checks a presented client secret, and brings its hash to the first SECRET_KEY on the way. */
import type { FastifyBaseLogger } from 'fastify'
import { statements } from '../store/clients.ts'
import type { Database } from '../store/database.ts'
import type { ChangeFeed } from './change-feed.ts'
import type { ClientSecrets, StoredSecret } from './client-secrets.ts'
import type { Directory } from './directory.ts'

/** Whether `secret` is the client's now. Takes the same time when there is no such client. */
export type CheckSecret = (clientId: string, secret: string) => Promise<boolean>

const MAX_LENGTH = 1024

export interface SecretCheckOptions {
  database: Database
  directory: Directory
  feed: ChangeFeed
  secrets: ClientSecrets
  log: FastifyBaseLogger
}

export function createSecretCheck({
  database,
  directory,
  feed,
  secrets,
  log,
}: SecretCheckOptions): CheckSecret {
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

  return async (clientId, secret) => {
    if (secret.length > MAX_LENGTH) return false
    const entry = await directory.findClientEntry(clientId)
    const found = await secrets.verify(secret, entry?.secrets ?? [], Date.now())
    if (found === undefined) return false
    void rehash(clientId, secret, found)
    return true
  }
}
