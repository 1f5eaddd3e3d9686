/** What signs and what seals, put together in the order of their needs, with what brings all of it under a new SECRET_KEY. */
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../../config.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import type { Database } from '../../store/database.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { ChangeFeed } from '../change-feed.ts'
import { createResealPluginRecords, createResealUserRecords, type ResealRecords } from './former-keys.ts'
import { createKeyRing, type KeyRing } from './key-ring.ts'
import { createKeyStores } from './key-stores.ts'
import { createRemoteSigner } from './remote-signer.ts'
import type { SecretBox } from './secret-box.ts'
import { createServerSecrets, resealServerSecrets, type FindServerSecret } from './server-secrets.ts'

export interface KeyServices {
  readonly keys: KeyRing
  readonly secret: FindServerSecret
  /** For the janitor, by what they are; none where SECRET_KEY has one entry alone. */
  readonly resealings: Readonly<Record<string, ResealRecords>>
  /** As that of the keys, which it starts; then the server's secrets are under the first SECRET_KEY. */
  start(): Promise<void>
}

export interface KeyServicesOptions {
  config: Config
  database: Database
  doors: DoorRegistry
  audit: AuditTrail
  feed: ChangeFeed
  box: SecretBox
  log: FastifyBaseLogger
}

export function createKeyServices(options: KeyServicesOptions): KeyServices {
  const { config, database, doors, audit, feed, box, log } = options
  const { issuer, KEYS_AT_ONCE: atOnce, SECRET_KEY: secretKeys = [] } = config
  const owners = () => doors.owners('keyStore')
  const stores = createKeyStores({ entries: config.KEYS, atOnce, issuer, box, owners, log })
  const keys = createKeyRing({
    database,
    audit,
    stores,
    remote: createRemoteSigner({ stores, atOnce, log }),
    box,
    feed,
    log,
    publishFor: config.OIDC_KEY_PUBLISH,
    rotateAfter: config.OIDC_KEY_ROTATE,
    longestLifetime: Math.max(config.OIDC_TOKEN_EXPIRE, config.OIDC_IDTOKEN_EXPIRE),
  })
  const resealings = {
    formerOfUsers: createResealUserRecords(database, box),
    formerOfPlugins: createResealPluginRecords(database, box),
  }
  return {
    keys,
    secret: createServerSecrets(database, box),
    resealings: secretKeys.length > 1 ? resealings : {},
    async start() {
      await keys.start()
      await resealServerSecrets(database, box)
    },
  }
}
