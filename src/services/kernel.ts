/** The services of one server, put together in the order of their needs. What each does stands in its own file. */
import { availableParallelism } from 'node:os'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config.ts'
import type { Artifacts } from '../doors/artifacts.ts'
import type { Bag } from '../protocol/bag.ts'
import type { Database } from '../store/database.ts'
import { createAccessTokenSigner } from './tokens/access-token-signer.ts'
import { type Approvals, createApprovals } from './tokens/approval-requests.ts'
import { createArtifacts } from './artifact-store.ts'
import { createTargets, type Targets } from './tokens/audience.ts'
import { createAudit, type AuditTrail } from './audit/audit.ts'
import { createAuthorizations, type Authorizations } from './tokens/authorizations.ts'
import { createAuthorizationCodes, type AuthorizationCodes } from './tokens/authorization-codes.ts'
import { createChangeFeed, type ChangeFeed } from './change-feed.ts'
import { createClientAuthenticator, type ClientAuthenticator } from './clients/client-authenticator.ts'
import { createClientPolicies, type ClientPolicies } from './clients/client-policies.ts'
import { createClientRegistry, type ClientRegistry } from './clients/client-registry.ts'
import { createClientSecrets } from './clients/client-secrets.ts'
import { createConsents, type Consents } from './users/consents.ts'
import { createDirectory, type Directory } from './directory.ts'
import { createDoorRegistry, type DoorRegistry } from '../doors/registry.ts'
import {
  createFirstAdministrator,
  INVITATION_LIFETIME,
  type FirstAdministrator,
} from './users/first-administrator.ts'
import { djangoPasswords } from './users/django-passwords.ts'
import { createFigures, type Figures } from './figures.ts'
import { createHashChosen } from './users/chosen-passwords.ts'
import { createHashingQueue, THREADS } from './hashing/hashing-queue.ts'
import { createKnownBrowsers, type KnownBrowsers } from './users/known-browsers.ts'
import { createIssueTransaction } from './tokens/issue-transaction.ts'
import { createJanitor } from './janitor.ts'
import { createJwtSigner, type SignJwt } from './tokens/jwt-signer.ts'
import { createKeyRing, type KeyRing } from './keys/key-ring.ts'
import { createOwnJwtVerifier, type OwnJwtVerifier } from './tokens/own-jwt-verifier.ts'
import { createOwedCodes } from './tokens/owed-codes.ts'
import { createRefreshTokens, type RefreshTokens } from './tokens/refresh-tokens.ts'
import { createReplayEnding } from './tokens/replays.ts'
import { createServerSecrets, resealServerSecrets, type FindServerSecret } from './keys/server-secrets.ts'
import { createSubjects, type SubjectOf } from './tokens/subjects.ts'
import { createTellReached } from './throttle/reached-limits.ts'
import { createThrottles, type Throttles } from './throttle/throttle.ts'
import { createPasswordLinks, type PasswordLinks } from './users/password-links.ts'
import { createPasswords } from './users/passwords.ts'
import { createResourceRegistry, type ResourceRegistry } from './resource-registry.ts'
import { createRevocations } from './tokens/revocations.ts'
import { createSeeder, type Seeder } from './seed/seed.ts'
import { misfitOfSecretKey } from './database/data-dir.ts'
import { createSecretBox, type SecretBox } from './keys/secret-box.ts'
import { createSecretCheck, type CheckSecret } from './clients/secret-check.ts'
import { createSessions, type Sessions } from './users/sessions.ts'
import { createTokenIssuer, type TokenIssuer } from './tokens/token-issuer.ts'
import { createTokenRevoker, type TokenRevoker } from './tokens/token-revoker.ts'
import { createTokenVerifier, type TokenVerifier } from './tokens/token-verifier.ts'
import { createUserRegistry, type UserRegistry } from './users/user-registry.ts'
import { createLoad, type Load } from './load.ts'

export interface Kernel {
  readonly doors: DoorRegistry
  readonly audit: AuditTrail
  readonly policies: ClientPolicies
  readonly registry: ClientRegistry
  readonly resources: ResourceRegistry
  readonly users: UserRegistry
  readonly feed: ChangeFeed
  readonly directory: Directory
  readonly throttles: Throttles
  readonly authenticator: ClientAuthenticator
  readonly checkSecret: CheckSecret
  readonly keyRing: KeyRing
  readonly signJwt: SignJwt
  readonly ownJwts: OwnJwtVerifier
  readonly authorizationCodes: AuthorizationCodes
  readonly refreshTokens: RefreshTokens
  readonly sessions: Sessions
  readonly knownBrowsers: KnownBrowsers
  readonly consents: Consents
  readonly authorizations: Authorizations
  readonly targets: Targets
  readonly approvals: Approvals
  readonly subjectOf: SubjectOf
  readonly secret: FindServerSecret
  readonly issuer: TokenIssuer
  readonly verifier: TokenVerifier
  readonly revoker: TokenRevoker
  readonly firstAdministrator: FirstAdministrator
  readonly passwordLinks: PasswordLinks
  readonly box: SecretBox
  readonly load: () => Load
  readonly figures: () => Promise<Figures>
  readonly seeder: Seeder
  artifacts<Value extends object = Bag>(kind: string, lifetime: number): Artifacts<Value>
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
  const { issuer: iss, OIDC_TOKEN_EXPIRE: lifetime } = config
  if (config.SECRET_KEY === undefined) throw new Error('the kernel needs SECRET_KEY')
  const box = createSecretBox(config.SECRET_KEY, misfitOfSecretKey(config))
  const doors = createDoorRegistry()
  const feed = createChangeFeed(database, log)
  const audit = createAudit(database, log, config.OIDC_AUDIT_TOKENS)
  const hashing = createHashingQueue()
  const secrets = createClientSecrets(box, hashing)
  const passwords = createPasswords(hashing.beside(), djangoPasswords)
  const policies = createClientPolicies(doors, config.production, log)
  const registry = createClientRegistry({ database, audit, feed, secrets, policies, log })
  const resources = createResourceRegistry(database, audit, feed)
  const { production } = config
  const users = createUserRegistry({ database, audit, box, feed, passwords, production, log })
  const directory = createDirectory(database, feed)
  const tell = createTellReached({ audit, box, users, directory })
  const throttles = createThrottles({ database, box, log, tell })
  const throttle = throttles.throttle('client')
  const authenticator = createClientAuthenticator({
    doors,
    directory,
    throttle,
    audit,
    box,
    issuer: iss,
    log,
  })
  const checkSecret = createSecretCheck({ database, feed, secrets, log })
  const keyRing = createKeyRing({
    database, audit, box, feed, log,
    publishFor: config.OIDC_KEY_PUBLISH,
    rotateAfter: config.OIDC_KEY_ROTATE,
    longestLifetime: Math.max(lifetime, config.OIDC_IDTOKEN_EXPIRE),
  }) // prettier-ignore
  const revocations = createRevocations(database, feed)
  const targets = createTargets(directory, iss, lifetime)
  const signJwt = createJwtSigner(keyRing, config.OIDC_SIGN_SYNCHRONOUSLY)
  const sign = createAccessTokenSigner(signJwt)
  const ownJwts = createOwnJwtVerifier(keyRing, iss)
  const endReplayed = createReplayEnding(audit)
  const refreshTokens = createRefreshTokens({
    database,
    box,
    reuseInterval: config.OIDC_REFRESH_REUSE_INTERVAL,
    idle: config.OIDC_REFRESH_TOKEN_IDLE,
    expire: config.OIDC_REFRESH_TOKEN_EXPIRE,
  })
  const owed = createOwedCodes()
  const authorizationCodes = createAuthorizationCodes(
    database,
    config.OIDC_CODE_EXPIRE,
    endReplayed,
    refreshTokens,
    owed,
  )
  const subjectOf = createSubjects(doors)
  const sessions = createSessions(database, audit, config.OIDC_SESSION_IDLE, config.OIDC_SESSION_EXPIRE)
  const consents = createConsents(database, audit, doors, targets)
  const store = createIssueTransaction(database, endReplayed, box, refreshTokens, owed)
  const issuer = createTokenIssuer({
    issuer: iss, doors, targets, subjectOf, sign, refreshTokens, store, audit,
  }) // prettier-ignore
  const verifier = createTokenVerifier({ database, directory, keyRing, ownJwts, revocations })
  const cleaner = createJanitor({
    database, log,
    interval: janitor ? config.OIDC_JANITOR_INTERVAL : 0,
    longestLifetime: lifetime + config.OIDC_REFRESH_REUSE_INTERVAL,
    auditExpire: config.OIDC_AUDIT_EXPIRE,
  }) // prettier-ignore
  const revoker = createTokenRevoker(audit, verifier, revocations)
  const secret = createServerSecrets(database, box)
  // Before it is ready, a process answers nobody: all its cores may hash.
  const atStart = createHashingQueue(Math.min(availableParallelism(), THREADS))
  const passwordsAtStart = createPasswords(atStart, djangoPasswords)
  const seeder = createSeeder({
    database, audit, feed, policies, log, secret,
    secrets: createClientSecrets(box, atStart),
    passwords: passwordsAtStart,
    hashChosen: createHashChosen({ passwords: passwordsAtStart, production, log }),
    limit: startLimit,
  }) // prettier-ignore
  const authorizations = createAuthorizations(database, revoker)

  return {
    doors, audit, policies, registry, resources, users, feed, directory, authenticator, checkSecret, keyRing, signJwt, ownJwts,
    authorizationCodes, refreshTokens, sessions, consents, authorizations, issuer, verifier, revoker, box,
    throttles, subjectOf, targets,
    knownBrowsers: createKnownBrowsers(database, box),
    load: createLoad(database, hashing, feed),
    figures: createFigures(database),
    approvals: createApprovals(doors, directory, targets),
    secret,
    seeder,
    passwordLinks: createPasswordLinks({ database, audit, feed, passwords, issuer: iss }),
    firstAdministrator: createFirstAdministrator(users, createArtifacts(database, box, 'setup', INVITATION_LIFETIME)),
    artifacts: <Value extends object = Bag>(kind: string, seconds: number) =>
      createArtifacts<Value>(database, box, kind, seconds),
    async start() {
      await feed.start()
      await keyRing.start()
      await resealServerSecrets(database, box)
      await revocations.start()
      await throttles.start()
      audit.start()
      cleaner.start()
    },
    async stop() {
      await cleaner.stop()
      await keyRing.stop()
      await feed.stop()
      await throttles.stop()
      await audit.stop()
    },
  } // prettier-ignore
}
