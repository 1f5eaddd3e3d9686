/** The services of one server, put together in the order of their needs. What each does stands in its own file. */
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config.ts'
import type { Fetch } from '../doors/outbound.ts'
import type { OpenPluginRecords } from '../doors/plugin-records.ts'
import { createDoorRegistry, type DoorRegistry } from '../doors/registry.ts'
import type { Database } from '../store/database.ts'
import { createOnce, type Once } from './once.ts'
import { createArtifactStore, type ArtifactStore } from './artifact-store.ts'
import { createAudit, type AuditTrail } from './audit/audit.ts'
import { createChangeFeed, type ChangeFeed } from './change-feed.ts'
import { createClientServices, type ClientServices } from './clients/client-services.ts'
import { createProfiles, type Profiles } from './clients/profiles.ts'
import { misfitOfSecretKey } from './database/data-dir.ts'
import { createDirectory, type Directory } from './directory.ts'
import { createArgon2id } from './hashing/argon2id.ts'
import { createHashingQueue } from './hashing/hashing-queue.ts'
import { createJanitor, type Janitor } from './janitor.ts'
import { createKeyServices, type KeyServices } from './keys/key-services.ts'
import { createSecretBox, type SecretBox } from './keys/secret-box.ts'
import { createLanguages, type Languages } from './languages/languages.ts'
import { createListings, type Listings } from './listings.ts'
import { createLoad, type Load } from './load.ts'
import { createGuardedFetch, outboundOf } from './outbound/guarded-fetch.ts'
import { createDeliveryServices, type DeliveryServices } from './outbox/delivery-services.ts'
import { createOutbox, type Outbox, type OutboxTrail } from './outbox/outbox.ts'
import { createMailer, type OwnMailer } from './mail.ts'
import { createPluginRecords } from './plugin-records.ts'
import { createResourceRegistry, type ResourceRegistry } from './resource-registry.ts'
import { createSeedServices, type SeedServices } from './seed/seed-services.ts'
import { createShedding, type Shedding } from './shedding.ts'
import { createThrottleServices, type ThrottleServices } from './throttle/throttle-services.ts'
import { createTokenServices, type TokenServices } from './tokens/token-services.ts'
import { createTrustedIssuerRegistry } from './trusted-issuers/trusted-issuer-registry.ts'
import {
  createTrustedIssuerServices,
  type TrustedIssuerServices,
} from './trusted-issuers/trusted-issuer-services.ts'
import { createUpstreamRegistry, type UpstreamRegistry } from './upstreams/upstream-registry.ts'
import { createIsBreached } from './users/breached-passwords.ts'
import type { PasswordRules } from './users/passwords.ts'
import { createUserServices, type UserServices } from './users/user-services.ts'

export interface Kernel
  extends
    ClientServices,
    DeliveryServices,
    SeedServices,
    ThrottleServices,
    TokenServices,
    TrustedIssuerServices,
    UserServices {
  readonly config: Config
  readonly issuer: string
  readonly database: Database
  readonly doors: DoorRegistry
  readonly audit: AuditTrail
  readonly profiles: Profiles
  readonly resources: ResourceRegistry
  readonly upstreams: UpstreamRegistry
  readonly feed: ChangeFeed
  readonly directory: Directory
  readonly keys: KeyServices['keys']
  readonly secret: KeyServices['secret']
  /** Keyed hashes and sealed values under SECRET_KEY. */
  readonly box: SecretBox
  readonly languages: Languages
  readonly mail: OwnMailer
  readonly fetch: Fetch
  readonly janitor: Pick<Janitor, 'add' | 'round'>
  readonly outbox: Outbox & Pick<OutboxTrail, 'enqueueBy' | 'announce'>
  /** How busy this process is now. */
  readonly load: () => Load
  /** Where pages read what they only show. */
  readonly listings: Listings
  /** What was refused because there was too much to do. */
  readonly shedding: Shedding
  readonly artifacts: ArtifactStore['artifacts']
  readonly once: Once
  readonly records: OpenPluginRecords
  /** Loads what is kept in memory. Throws when the database does not answer. */
  start(): Promise<void>
  stop(): Promise<void>
}

export interface KernelOptions {
  /** Whether what has expired is removed by this process too. */
  removesExpired: boolean
  /** Milliseconds after which the app that we are in gives up a start; 0 for never. */
  startLimit: number
}

export function createKernel(
  config: Config,
  database: Database,
  log: FastifyBaseLogger,
  { removesExpired, startLimit }: KernelOptions,
): Kernel {
  const { issuer, production } = config
  if (config.SECRET_KEY === undefined) throw new Error('the kernel needs SECRET_KEY')
  const box = createSecretBox(config.SECRET_KEY, misfitOfSecretKey(config))
  const doors = createDoorRegistry()
  const feed = createChangeFeed(database, log)
  const deliveries = () => doors.owners('delivery')
  const profiles = createProfiles(doors, config.OIDC_PROFILE)
  const directory = createDirectory(database, feed, profiles, () => doors.owners('clientSource'))
  const { cachedClient } = directory
  const outbox = createOutbox({ database, box, feed, log, deliveries, cachedClient })
  const audit = createAudit(database, log, config.OIDC_AUDIT_TOKENS, outbox)
  const delivering = createDeliveryServices({ database, audit, box, feed, log, deliveries, outbox })
  const hashing = createHashingQueue()
  const argon2id = createArgon2id(config.OIDC_PASSWORD_HASH_MEMORY)
  const keyServices = createKeyServices({ config, database, doors, audit, feed, box, log })
  const { keys, secret } = keyServices
  const artifacts = createArtifactStore({ database, box, doors, audit })
  const trustedIssuers = createTrustedIssuerRegistry({ database, audit, feed, issuer })
  const { trusted } = trustedIssuers
  const tokens = createTokenServices({ config, database, doors, audit, feed, directory, keys, box, trusted })
  const once = createOnce(database)
  const fetch = createGuardedFetch(outboundOf(config))
  const rules: PasswordRules = {
    argon2id,
    minLength: config.OIDC_PASSWORD_MIN_LENGTH,
    isBreached: createIsBreached({ setting: config.OIDC_BREACHED_PASSWORDS, fetch, log }),
  }
  const people = createUserServices({
    config,
    database,
    doors,
    audit,
    feed,
    directory,
    box,
    artifacts,
    audiences: tokens.audiences,
    givenBeside: tokens.givenBeside,
    outbox,
    hashing: hashing.beside(),
    rules,
    log,
  })
  const { users } = people
  const throttles = createThrottleServices({ database, doors, audit, directory, box, users, log })
  const clients = createClientServices({
    config,
    database,
    doors,
    audit,
    feed,
    directory,
    profiles,
    box,
    hashing,
    argon2id,
    fetch,
    secret,
    throttle: throttles.throttle,
    log,
  })
  const { policies, clientKeys } = clients
  const trusting = createTrustedIssuerServices({ issuer, database, trustedIssuers, clientKeys, users, log })
  const janitor = createJanitor({
    database,
    log,
    interval: removesExpired ? config.OIDC_JANITOR_INTERVAL : 0,
    longestLifetime: config.OIDC_TOKEN_EXPIRE + config.OIDC_REFRESH_REUSE_INTERVAL,
    auditExpire: config.OIDC_AUDIT_EXPIRE,
    endings: {
      accounts: people.accountDeletions.deleteDue,
      ...delivering.excesses,
      roles: people.groups.goOn,
      registrations: clients.endUnusedRegistrations,
      ...keyServices.resealings,
    },
  })
  const seeding = createSeedServices({
    config,
    database,
    audit,
    feed,
    policies,
    secret,
    box,
    rules,
    startLimit,
    log,
  })
  const listings = createListings(database, config, log)

  return {
    ...tokens,
    ...people,
    ...clients,
    ...trusting,
    ...seeding,
    courier: delivering.courier,
    recipients: delivering.recipients,
    givenUpDeliveries: delivering.givenUpDeliveries,
    config,
    issuer,
    database,
    doors,
    audit,
    profiles,
    resources: createResourceRegistry(database, audit, feed, issuer),
    upstreams: createUpstreamRegistry({ database, audit, feed, issuer, box }),
    feed,
    directory,
    throttle: throttles.throttle,
    languages: createLanguages(config),
    mail: createMailer({ doors, outbox, production, log }),
    keys,
    secret,
    box,
    fetch,
    janitor,
    outbox,
    load: createLoad(database, hashing, feed),
    listings,
    shedding: createShedding(log),
    throttledLines: throttles.throttledLines,
    artifacts: artifacts.artifacts,
    once,
    records: createPluginRecords({ database, doors, audit, box }),
    async start() {
      await feed.start()
      await keyServices.start()
      await tokens.revocations.start()
      await throttles.start()
      audit.start()
      listings.start()
      trusting.trustedIssuerUses.start()
      janitor.start()
    },
    async stop() {
      throttles.throttledLines.end()
      await delivering.stop()
      await janitor.stop()
      await keys.stop()
      await feed.stop()
      await throttles.stop()
      await listings.stop()
      await trusting.trustedIssuerUses.stop()
      await audit.stop()
      await outbox.stop()
    },
  }
}
