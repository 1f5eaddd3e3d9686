/** Everything about clients, put together in the order of their needs: how they are registered, how they prove who they are. */
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../../config.ts'
import type { Fetch } from '../../doors/outbound.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import type { Database } from '../../store/database.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { ChangeFeed } from '../change-feed.ts'
import type { Directory } from '../directory.ts'
import type { Argon2id } from '../hashing/argon2id.ts'
import type { HashingQueue } from '../hashing/hashing-queue.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import type { FindServerSecret } from '../keys/server-secrets.ts'
import { createInitialTokens, type InitialTokens } from '../registration/initial-tokens.ts'
import { createKeyedHash } from '../registration/keyed-hash.ts'
import { createRegistrationTokens, type RegistrationTokens } from '../registration/registration-tokens.ts'
import { createApplyStatement } from '../registration/software-statements.ts'
import { createEndUnused } from '../registration/unused-registrations.ts'
import type { Throttles } from '../throttle/throttle.ts'
import { createClientAuthenticator, type ClientAuthenticator } from './client-authenticator.ts'
import { createClientChanges } from './client-changes.ts'
import { createClientEncryption, type ClientEncryption } from './client-encryption.ts'
import { createClientKeys, type ClientKeys } from './client-keys.ts'
import { createClientPolicies, type ClientPolicies } from './client-policies.ts'
import { createClientRegistry, type ClientRegistry } from './client-registry.ts'
import { createClientSecrets } from './client-secrets.ts'
import { createOpenMetadata, type ParseOpenMetadata } from './open-metadata.ts'
import type { Profiles } from './profiles.ts'
import { createFindSealedSecrets, type FindSealedSecrets } from './sealed-secrets.ts'
import { createSecretCheck, type CheckSecret } from './secret-check.ts'
import { createSelfRegistrations, type OpenOwnSelfRegistration } from './self-registration.ts'

export interface ClientServices {
  readonly policies: ClientPolicies
  readonly clients: ClientRegistry
  readonly parseOpenMetadata: ParseOpenMetadata
  readonly selfRegistration: OpenOwnSelfRegistration
  readonly initialTokens: InitialTokens
  readonly registrationTokens: RegistrationTokens
  /** Some of those that are due; how many. */
  readonly endUnusedRegistrations: () => Promise<number>
  readonly authenticator: ClientAuthenticator
  readonly checkSecret: CheckSecret
  readonly findSealedSecrets: FindSealedSecrets
  readonly clientKeys: ClientKeys
  readonly clientEncryption: ClientEncryption
}

export interface ClientServicesOptions {
  config: Config
  database: Database
  doors: DoorRegistry
  audit: AuditTrail
  feed: ChangeFeed
  directory: Directory
  profiles: Profiles
  box: SecretBox
  hashing: HashingQueue
  argon2id: Argon2id
  fetch: Fetch
  secret: FindServerSecret
  throttle: Throttles['throttle']
  log: FastifyBaseLogger
}

export function createClientServices(options: ClientServicesOptions): ClientServices {
  const { config, database, doors, audit, feed, directory, profiles, box, fetch, secret, log } = options
  const secrets = createClientSecrets(box, options.hashing, options.argon2id)
  const policies = createClientPolicies(
    doors,
    config.production,
    log,
    profiles,
    config.UNSAFE_OUTBOUND_ORIGINS,
  )
  const parseOpenMetadata = createOpenMetadata({ doors, directory, policies })
  const changes = createClientChanges({ database, audit, feed, policies })
  const clients = createClientRegistry({ database, changes, secrets, policies, log })
  const clientKeys = createClientKeys(fetch, log)

  return {
    policies,
    clients,
    parseOpenMetadata,
    selfRegistration: createSelfRegistrations({
      database,
      doors,
      parse: parseOpenMetadata,
      changes,
      finder: clients,
      secrets,
      keyed: createKeyedHash(secret),
      policies,
      applyStatement: createApplyStatement(config, clientKeys),
    }),
    initialTokens: createInitialTokens(database, audit),
    registrationTokens: createRegistrationTokens(database, secret),
    endUnusedRegistrations: createEndUnused({ config, database, changes, policies }),
    authenticator: createClientAuthenticator({
      doors,
      directory,
      throttle: options.throttle('client'),
      audit,
      box,
      issuer: config.issuer,
      log,
    }),
    checkSecret: createSecretCheck({ database, feed, secrets, log }),
    findSealedSecrets: createFindSealedSecrets({ database, feed, secrets, log }),
    clientKeys,
    clientEncryption: createClientEncryption(clientKeys),
  }
}
