/**
 * The secrets of clients that are read again, to check what they have keyed: opened once while a client is in memory, and
 * sealed under the first SECRET_KEY on the way.
 */
import { createSecretKey, type KeyObject } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { Client } from '../../doors/client.ts'
import { statements } from '../../store/clients.ts'
import type { Database } from '../../store/database.ts'
import type { ChangeFeed } from '../change-feed.ts'
import { secretsOf } from './served-client.ts'
import type { ClientSecrets, StoredSecret } from './client-secrets.ts'

/** Those that are good now; none where there is no client, or its method needs none. */
export type FindSealedSecrets = (client: Client | null) => readonly KeyObject[]

export interface SealedSecretsOptions {
  database: Database
  feed: ChangeFeed
  secrets: ClientSecrets
  log: FastifyBaseLogger
}

export function createFindSealedSecrets({
  database,
  feed,
  secrets,
  log,
}: SealedSecretsOptions): FindSealedSecrets {
  /** By the stored secret itself, which is another object once its client was read again; null for what no key opens. */
  const opened = new WeakMap<StoredSecret, KeyObject | null>()

  function open(clientId: string, stored: StoredSecret): KeyObject | null {
    try {
      const key = createSecretKey(secrets.open(clientId, stored), 'utf8')
      void reseal(clientId, stored)
      return key
    } catch (error) {
      log.error({ client: clientId, err: error }, 'SECRET_KEY: the secret of a client cannot be decrypted')
      return null
    }
  }

  /** Behind the request: losing it costs nothing, the next one does it again. */
  async function reseal(clientId: string, stored: StoredSecret): Promise<void> {
    const made = secrets.reseal(clientId, stored)
    if (made === undefined) return
    try {
      await database.query(statements.resealSecret, [stored.id, stored.sealed, made.sealed, made.hash])
      await feed.announce('client', clientId)
    } catch (error) {
      log.warn({ err: error }, 'a client secret could not be sealed under the new SECRET_KEY yet')
    }
  }

  function keyOf(clientId: string, stored: StoredSecret): KeyObject | null {
    const known = opened.get(stored)
    if (known !== undefined) return known
    const key = open(clientId, stored)
    opened.set(stored, key)
    return key
  }

  return (client) => {
    const live = secretsOf(client).filter(
      ({ sealed, expiresAt }) => sealed !== null && (expiresAt === null || expiresAt > Date.now()),
    )
    return live.map((stored) => keyOf(client!.clientId, stored)).filter((key) => key !== null)
  }
}
