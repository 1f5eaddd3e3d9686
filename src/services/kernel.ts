/** The services of one server, put together in the order of their needs. What each does stands in its own file. */
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config.ts'
import type { Fetch } from '../doors/outbound.ts'
import type { OpenPluginRecords } from '../doors/plugin-records.ts'
import { createDoorRegistry, type DoorRegistry } from '../doors/registry.ts'
import type { Database } from '../store/database.ts'
import { openReplica, type Replica } from '../store/replica.ts'
import { createOnce, type Once } from './once.ts'
import { createArtifactStore, type ArtifactStore } from './artifact-store.ts'
import { createAudit, type AuditTrail } from './audit/audit.ts'
import { createChangeFeed, type ChangeFeed } from './change-feed.ts'
import { createClientAuthenticator, type ClientAuthenticator } from './clients/client-authenticator.ts'
import { createClientEncryption, type ClientEncryption } from './clients/client-encryption.ts'
import { createClientKeys, type ClientKeys } from './clients/client-keys.ts'
import { createClientPolicies, type ClientPolicies } from './clients/client-policies.ts'
import { createClientChanges } from './clients/client-changes.ts'
import { createClientRegistry, type ClientRegistry } from './clients/client-registry.ts'
import { createClientSecrets } from './clients/client-secrets.ts'
import { createOpenMetadata, type ParseOpenMetadata } from './clients/open-metadata.ts'
import { createProfiles, type Profiles } from './clients/profiles.ts'
import { createSelfRegistrations, type OpenOwnSelfRegistration } from './clients/self-registration.ts'
import { createFindSealedSecrets, type FindSealedSecrets } from './clients/sealed-secrets.ts'
import { createSecretCheck, type CheckSecret } from './clients/secret-check.ts'
import { misfitOfSecretKey } from './database/data-dir.ts'
import { createDirectory, type Directory } from './directory.ts'
import { createArgon2id } from './hashing/argon2id.ts'
import { createHashingQueue } from './hashing/hashing-queue.ts'
import { createJanitor } from './janitor.ts'
import { createKeyRing, type KeyRing } from './keys/key-ring.ts'
import { createResealPluginRecords, createResealUserRecords } from './keys/former-keys.ts'
import { createKeyStores } from './keys/key-stores.ts'
import { createRemoteSigner } from './keys/remote-signer.ts'
import { createSecretBox, type SecretBox } from './keys/secret-box.ts'
import { createServerSecrets, resealServerSecrets, type FindServerSecret } from './keys/server-secrets.ts'
import { createLanguages, type Languages } from './languages/languages.ts'
import { createListings, type Listings } from './listings.ts'
import { createLoad, type Load } from './load.ts'
import { createGuardedFetch } from './outbound/guarded-fetch.ts'
import { createCourier, type Courier } from './outbox/courier.ts'
import { createGivenUpDeliveries, type GivenUpDeliveries } from './outbox/given-up.ts'
import { createOutbox, type Outbox } from './outbox/outbox.ts'
import { createMailer, type OwnMailer } from './mail.ts'
import { createPluginRecords } from './plugin-records.ts'
import { createInitialTokens, type InitialTokens } from './registration/initial-tokens.ts'
import { createRegistrationTokens, type RegistrationTokens } from './registration/registration-tokens.ts'
import { createApplyStatement } from './registration/software-statements.ts'
import { createEndUnused } from './registration/unused-registrations.ts'
import { createResourceRegistry, type ResourceRegistry } from './resource-registry.ts'
import { createHashersAtStart } from './seed/hashers-at-start.ts'
import { createSeeder, type Seeder } from './seed/seed.ts'
import { createShedding, type Shedding } from './shedding.ts'
import { createTellReached } from './throttle/reached-limits.ts'
import { createThrottles, type Throttles } from './throttle/throttle.ts'
import { createThrottledLines, type ThrottledLines } from './throttled-lines.ts'
import { createTokenServices, type TokenServices } from './tokens/token-services.ts'
import { createAssertions, type Assertions } from './trusted-issuers/assertions.ts'
import { createFindMapped, type FindMapped } from './trusted-issuers/mapped-subjects.ts'
import { createTrustedIssuerUses, type TrustedIssuerUses } from './trusted-issuers/trusted-issuer-uses.ts'
import { createTrustedIssuerRegistry, type TrustedIssuerRegistry } from './trusted-issuers/trusted-issuer-registry.ts' // prettier-ignore
import { createUpstreamRegistry, type UpstreamRegistry } from './upstreams/upstream-registry.ts'
import { createIsBreached } from './users/breached-passwords.ts'
import type { PasswordRules } from './users/passwords.ts'
import { createUserServices, type UserServices } from './users/user-services.ts'

export interface Kernel extends TokenServices, UserServices {
  readonly config: Config
  readonly issuer: string
  readonly database: Database
  readonly doors: DoorRegistry
  readonly audit: AuditTrail
  readonly policies: ClientPolicies
  readonly profiles: Profiles
  readonly clients: ClientRegistry
  readonly parseOpenMetadata: ParseOpenMetadata
  readonly selfRegistration: OpenOwnSelfRegistration
  readonly initialTokens: InitialTokens
  readonly registrationTokens: RegistrationTokens
  /** Some of those that are due; how many. */
  readonly endUnusedRegistrations: () => Promise<number>
  readonly resources: ResourceRegistry
  readonly upstreams: UpstreamRegistry
  readonly trustedIssuers: TrustedIssuerRegistry
  readonly trustedIssuerUses: TrustedIssuerUses
  /** JWTs of trusted issuers, and who their subjects are here. */
  readonly assertions: Assertions
  readonly findMapped: FindMapped
  readonly feed: ChangeFeed
  readonly directory: Directory
  readonly throttle: Throttles['throttle']
  readonly authenticator: ClientAuthenticator
  readonly checkSecret: CheckSecret
  readonly findSealedSecrets: FindSealedSecrets
  readonly keys: KeyRing
  readonly secret: FindServerSecret
  /** Keyed hashes and sealed values under SECRET_KEY. */
  readonly box: SecretBox
  readonly languages: Languages
  readonly mail: OwnMailer
  readonly seeder: Seeder
  readonly fetch: Fetch
  readonly clientKeys: ClientKeys
  readonly clientEncryption: ClientEncryption
  readonly outbox: Outbox
  /** Not started with the others: by who listens. */
  readonly courier: Courier
  readonly givenUpDeliveries: GivenUpDeliveries
  /** How busy this process is now. */
  readonly load: () => Load
  /** Where pages read what they only show. */
  readonly listings: Listings
  /** What was refused because there was too much to do. */
  readonly shedding: Shedding
  /** What the log says of requests that are throttled. */
  readonly throttledLines: ThrottledLines
  readonly artifacts: ArtifactStore['artifacts']
  readonly once: Once
  readonly records: OpenPluginRecords
  /** Loads what is kept in memory. Throws when the database does not answer. */
  start(): Promise<void>
  stop(): Promise<void>
}

export interface KernelOptions {
  /** Whether what has expired is removed by this process too. */
  janitor: boolean
  /** Milliseconds after which the app that we are in gives up a start; 0 for never. */
  startLimit: number
}

export function createKernel(
  config: Config,
  database: Database,
  log: FastifyBaseLogger,
  { janitor, startLimit }: KernelOptions,
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
  const courier = createCourier({ database, audit, box, feed, log, deliveries })
  const hashing = createHashingQueue()
  const argon2id = createArgon2id(config.OIDC_PASSWORD_HASH_MEMORY)
  const secrets = createClientSecrets(box, hashing, argon2id)
  const policies = createClientPolicies(doors, production, log, profiles)
  const parseOpenMetadata = createOpenMetadata({ doors, directory, policies })
  const changes = createClientChanges({ database, audit, feed, policies })
  const clients = createClientRegistry({ database, changes, secrets, policies, log })
  const atOnce = config.KEYS_AT_ONCE
  const stores = createKeyStores({
    entries: config.KEYS,
    atOnce,
    issuer,
    box,
    owners: () => doors.owners('keyStore'),
    log,
  })
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
  const artifacts = createArtifactStore({ database, box, doors, audit })
  const trustedIssuers = createTrustedIssuerRegistry({ database, audit, feed, issuer })
  const { trusted } = trustedIssuers
  const trustedIssuerUses = createTrustedIssuerUses(database, log)
  const tokens = createTokenServices({ config, database, doors, audit, feed, directory, keys, box, trusted })
  const once = createOnce(database)
  const fetch = createGuardedFetch({ unsafeOrigins: config.UNSAFE_OUTBOUND_ORIGINS })
  const clientKeys = createClientKeys(fetch, log)
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
  const tell = createTellReached({ audit, box, users: people.users, directory })
  const throttles = createThrottles({ database, box, log, tell })
  const throttle: Throttles['throttle'] = (kind, limits) => {
    doors.own('throttle kind', kind)
    return throttles.throttle(kind, limits)
  }
  const throttledLines = createThrottledLines(log)
  const secret = createServerSecrets(database, box)
  const endUnusedRegistrations = createEndUnused({ config, database, changes, policies })
  const cleaner = createJanitor({
    database,
    log,
    interval: janitor ? config.OIDC_JANITOR_INTERVAL : 0,
    longestLifetime: config.OIDC_TOKEN_EXPIRE + config.OIDC_REFRESH_REUSE_INTERVAL,
    auditExpire: config.OIDC_AUDIT_EXPIRE,
    endings: {
      accounts: people.accountDeletions.deleteDue,
      registrations: endUnusedRegistrations,
      ...(config.SECRET_KEY.length > 1
        ? {
            formerOfUsers: createResealUserRecords(database, box),
            formerOfPlugins: createResealPluginRecords(database, box),
          }
        : {}),
    },
  })

  const listings = createListings({
    database,
    schema: config.DATABASE_SCHEMA,
    log,
    replica: replicaOf(config),
  })

  return {
    ...tokens,
    ...people,
    config,
    issuer,
    database,
    doors,
    audit,
    policies,
    profiles,
    clients,
    parseOpenMetadata,
    selfRegistration: createSelfRegistrations({
      database,
      doors,
      parse: parseOpenMetadata,
      changes,
      finder: clients,
      secrets,
      policies,
      applyStatement: createApplyStatement(config, clientKeys),
    }),
    initialTokens: createInitialTokens(database, audit),
    registrationTokens: createRegistrationTokens(database, secret),
    endUnusedRegistrations,
    resources: createResourceRegistry(database, audit, feed, issuer),
    upstreams: createUpstreamRegistry({ database, audit, feed, issuer, box }),
    trustedIssuers,
    trustedIssuerUses,
    assertions: createAssertions({
      issuers: trustedIssuers,
      uses: trustedIssuerUses,
      keys: clientKeys,
      audiences: [issuer, `${issuer}/token`],
    }),
    findMapped: createFindMapped(database, people.users),
    feed,
    directory,
    throttle,
    languages: createLanguages(config),
    mail: createMailer({ doors, outbox, production, log }),
    authenticator: createClientAuthenticator({
      doors,
      directory,
      throttle: throttle('client'),
      audit,
      box,
      issuer,
      log,
    }),
    checkSecret: createSecretCheck({ database, feed, secrets, log }),
    findSealedSecrets: createFindSealedSecrets({ database, feed, secrets, log }),
    keys,
    secret,
    box,
    seeder: createSeeder({
      issuer,
      database,
      audit,
      feed,
      policies,
      log,
      secret,
      box,
      limit: startLimit,
      ...createHashersAtStart({ box, rules, production, log }),
    }),
    fetch,
    clientKeys,
    clientEncryption: createClientEncryption(clientKeys),
    outbox,
    courier,
    givenUpDeliveries: createGivenUpDeliveries(database, audit, outbox),
    load: createLoad(database, hashing, feed),
    listings,
    shedding: createShedding(log),
    throttledLines,
    artifacts: artifacts.artifacts,
    once,
    records: createPluginRecords({ database, doors, audit, box }),
    async start() {
      await feed.start()
      await keys.start()
      await resealServerSecrets(database, box)
      await tokens.revocations.start()
      await throttles.start()
      audit.start()
      listings.start()
      trustedIssuerUses.start()
      cleaner.start()
    },
    async stop() {
      throttledLines.end()
      await courier.stop()
      await cleaner.stop()
      await keys.stop()
      await feed.stop()
      await throttles.stop()
      await listings.stop()
      await trustedIssuerUses.stop()
      await audit.stop()
    },
  }
}

function replicaOf(config: Config): Replica | undefined {
  const { DATABASE_REPLICA_URL: url, DATABASE_SCHEMA: schema, DATABASE_PREPARE: prepare } = config
  return url === undefined ? undefined : openReplica({ url, schema, prepare })
}
