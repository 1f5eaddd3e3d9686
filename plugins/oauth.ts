/**
 * Decorates the server with `fastify.oauth`: the doors of `src/doors/` and the services behind them. Every
 * endpoint and grant, ours or a stranger's, is registered through it; it opens what it needs and closes it again.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { TObject } from 'typebox'
import type { Config } from '../src/config.ts'
import type { Additive, Dispatched, Ordered } from '../src/doors/kinds.ts'
import type { Artifacts } from '../src/doors/artifacts.ts'
import type { Call, Endpoint, Grant } from '../src/doors/back-channel.ts'
import type { Client } from '../src/doors/client.ts'
import type { Granted, Verified } from '../src/doors/facts.ts'
import type { Bag } from '../src/protocol/bag.ts'
import type { Approvals } from '../src/services/tokens/approval-requests.ts'
import type { Authorizations } from '../src/services/tokens/authorizations.ts'
import type { AuthorizationCodes } from '../src/services/tokens/authorization-codes.ts'
import type { ClientRegistry } from '../src/services/clients/client-registry.ts'
import type { ResourceEntry, ScopeEntry } from '../src/services/directory.ts'
import type { Audit } from '../src/services/audit/audit.ts'
import type { Consents } from '../src/services/users/consents.ts'
import type { Extend, RegisteredGrant } from '../src/doors/registry.ts'
import type { Figures } from '../src/services/figures.ts'
import type { FirstAdministrator } from '../src/services/users/first-administrator.ts'
import type { KnownBrowsers } from '../src/services/users/known-browsers.ts'
import type { SignJwt } from '../src/services/tokens/jwt-signer.ts'
import type { Throttles } from '../src/services/throttle/throttle.ts'
import { runAs } from '../src/services/audit/origin.ts'
import type { PasswordLinks } from '../src/services/users/password-links.ts'
import type { KeyRing } from '../src/services/keys/key-ring.ts'
import { createKernel } from '../src/services/kernel.ts'
import { discreet } from '../src/services/log.ts'
import { createShedding, type Shedding } from '../src/services/shedding.ts'
import { createThrottledLines, type ThrottledLines } from '../src/services/throttled-lines.ts'
import type { OwnJwtVerifier } from '../src/services/tokens/own-jwt-verifier.ts'
import type { RefreshTokens } from '../src/services/tokens/refresh-tokens.ts'
import type { ResourceRegistry } from '../src/services/resource-registry.ts'
import type { Seeder } from '../src/services/seed/seed.ts'
import type { User } from '../src/services/users/user.ts'
import type { UserRegistry } from '../src/services/users/user-registry.ts'
import type { SecretBox } from '../src/services/keys/secret-box.ts'
import type { FindServerSecret } from '../src/services/keys/server-secrets.ts'
import type { SubjectOf } from '../src/services/tokens/subjects.ts'
import type { Sessions } from '../src/services/users/sessions.ts'
import type { Load } from '../src/services/load.ts'
import type { Database } from '../src/store/database.ts'
import { beforeRoutes } from '../src/http/before-routes.ts'
import { createEndpoints } from '../src/http/endpoint.ts'

/** The doors, and what they open on. Names follow `src/doors/`. */
export interface OAuth {
  readonly config: Config
  readonly issuer: string
  /** Where the database is, in words for people, and whether it answers: else `ping` throws. */
  readonly database: { readonly where: string; ping(): Promise<void> }
  /** How busy this process is now. */
  load(): Load
  /** What was refused because there was too much to do. */
  readonly shedding: Shedding
  /** What the log says of requests that are throttled. */
  readonly throttledLines: ThrottledLines
  /** How much the server holds. */
  figures(): Promise<Figures>
  readonly clients: ClientRegistry
  readonly resources: ResourceRegistry
  readonly users: UserRegistry
  readonly keys: KeyRing
  /** @internal */
  readonly seeder: Seeder

  registerGrant<P extends TObject>(grant: Grant<P>): void
  registerEndpoint<P extends TObject>(endpoint: Endpoint<P>): void
  register<K extends keyof Dispatched>(kind: K, key: string, owner: Dispatched[K]): void
  add<K extends keyof Ordered>(kind: K, item: Ordered[K]): void
  readonly extend: Extend
  /**
   * Members of client metadata that a plugin adds; from then on every way of registering clients knows them. Throws when one
   * is taken. A check may also be of members of others.
   */
  extendClientMetadata(schema: TObject, check?: (metadata: Bag) => void): void
  /** Stored things of a plugin's own, each living `lifetime` seconds. */
  artifacts<Value extends object = Bag>(kind: string, lifetime: number): Artifacts<Value>
  /** A secret of a plugin's own: random, made once, the same in every process and for ever. Once the server is ready. */
  readonly secret: FindServerSecret

  /** The registered grants by their `grant_type`. */
  readonly grants: ReadonlyMap<string, RegisteredGrant>
  /** The registered endpoints: the metadata member and the path of each. */
  endpoints(): readonly Pick<Endpoint, 'metadata' | 'path'>[]
  /** Owners of a dispatched kind, by key. */
  owners<K extends keyof Dispatched>(kind: K): ReadonlyMap<string, Dispatched[K]>
  /** `owned` with every contribution at this place. */
  extended<K extends keyof Additive>(at: K, subject: Additive[K], owned: Bag): Promise<Bag>

  readonly authorizationCodes: AuthorizationCodes
  readonly refreshTokens: RefreshTokens
  readonly sessions: Sessions
  /** Marks of the browsers that accounts have signed in from. */
  readonly knownBrowsers: KnownBrowsers
  readonly consents: Consents
  /** What clients hold of users. */
  readonly authorizations: Authorizations
  /** What has happened: to be noted, listened to and asked for. */
  readonly audit: Audit
  /** The one-time link of the first administrator. */
  readonly firstAdministrator: FirstAdministrator
  /** One-time links by which users set their passwords. */
  readonly passwordLinks: PasswordLinks
  /** Keyed hashes and sealed values under SECRET_KEY. */
  readonly box: SecretBox
  /** A JWT of ours over `claims`. */
  readonly signJwt: SignJwt
  /** Reads JWTs that we signed. */
  readonly ownJwts: OwnJwtVerifier
  /** The items of an ordered kind, in the order of registration. */
  all<K extends keyof Ordered>(kind: K): readonly Ordered[K][]

  findClient(clientId: string): Promise<Client | null>
  /** What is registered of a scope, and of a resource. */
  findScope(name: string): Promise<ScopeEntry>
  findResource(identifier: string): Promise<ResourceEntry | null>
  /**
   * What `client` asks an end-user to approve by the parameters of `wire`: the rules of the authorization endpoint for
   * scopes, resources and registered parameters, for other endpoints too. Throws `OAuthError`.
   */
  readonly parseApproval: Approvals['parse']
  /** The same of a request that has waited for people. Throws `OAuthError`. */
  readonly reviewApproval: Approvals['review']
  /** The `sub` by which a client knows a user (OpenID Connect Core §8). */
  readonly subjectOf: SubjectOf
  /** By the id, which tokens name as `sub`; also a disabled one. From memory, two seconds old at most. */
  findUser(id: string): Promise<User | null>
  /**
   * Whether `secret` is the client's now; takes the same time when there is no client. Give the client_id of the request
   * as `claimed`: many who ask the same of one client at once share one slow hash, whether that client exists or not.
   */
  checkSecret(client: Client | null, secret: string, claimed?: string): Promise<boolean>
  /** Refuses who has failed too often at this kind of attempt; ours are `client` and `user`. */
  readonly throttle: Throttles['throttle']
  /** The only mint. */
  issue(granted: Granted, call: Call): Promise<Bag>
  /** Null for a token that is not good now. Throws 503 when it cannot be decided. */
  verify(token: string): Promise<Verified | null>
  /** The claims of an access token that we issued, good or not any more; null for all others. */
  readToken(token: string): Promise<Bag | null>
  /** Ends one access token of ours. */
  revokeToken(token: string): Promise<void>
  /** Ends every token of an Authorization; false where it had been revoked, or there is none. */
  revoke(authorizationId: string, cause: string): Promise<boolean>
  /** Throws 503 while nothing may be decided from what is in memory. */
  assertFresh(): void
}

declare module 'fastify' {
  interface FastifyInstance {
    oauth: OAuth
  }
}

export interface OAuthOptions {
  config: Config
  /** @internal */
  database: Database
  /** Whether this process removes what has expired, as often as OIDC_JANITOR_INTERVAL says. Default true. */
  janitor?: boolean
  /** Whether SEED_FILE is applied before the app is ready. Default true. */
  seeds?: boolean
}

async function oauth(fastify: FastifyInstance, options: OAuthOptions): Promise<void> {
  const { config, database, janitor = true, seeds = true } = options
  const { pluginTimeout: startLimit = 0 } = fastify.initialConfig
  const kernel = createKernel(config, database, discreet(fastify.log), { janitor, startLimit })
  const { doors, feed, verifier } = kernel
  fastify.decorateRequest('actor', null)
  beforeRoutes(fastify, (request, _reply, done) => runAs(request, done))
  const endpoints = await createEndpoints(fastify, config.basePath, kernel.authenticator.authenticate)

  const throttledLines = createThrottledLines(discreet(fastify.log))
  fastify.addHook('onClose', async () => throttledLines.end())

  fastify.decorate('oauth', {
    config,
    issuer: config.issuer,
    database,
    load: kernel.load,
    shedding: createShedding(discreet(fastify.log)),
    throttledLines,
    figures: kernel.figures,
    clients: kernel.registry,
    resources: kernel.resources,
    users: kernel.users,
    keys: kernel.keyRing,
    seeder: kernel.seeder,
    registerGrant: doors.registerGrant,
    registerEndpoint: endpoints.register,
    register: doors.register,
    add: doors.add,
    extend: doors.extend,
    extendClientMetadata: kernel.policies.extend,
    artifacts: kernel.artifacts,
    secret: kernel.secret,
    grants: doors.grants,
    endpoints: endpoints.all,
    owners: doors.owners,
    extended: doors.extended,
    authorizationCodes: kernel.authorizationCodes,
    refreshTokens: kernel.refreshTokens,
    sessions: kernel.sessions,
    knownBrowsers: kernel.knownBrowsers,
    consents: kernel.consents,
    authorizations: kernel.authorizations,
    audit: kernel.audit,
    firstAdministrator: kernel.firstAdministrator,
    passwordLinks: kernel.passwordLinks,
    box: kernel.box,
    signJwt: kernel.signJwt,
    ownJwts: kernel.ownJwts,
    all: doors.all,
    findClient: kernel.directory.findClient,
    findScope: kernel.directory.findScope,
    findResource: kernel.directory.findResource,
    parseApproval: kernel.approvals.parse,
    reviewApproval: kernel.approvals.review,
    subjectOf: kernel.subjectOf,
    findUser: kernel.directory.findUser,
    checkSecret: kernel.checkSecret,
    throttle: kernel.throttles.throttle,
    issue: kernel.issuer.issue,
    verify: verifier.verify,
    readToken: verifier.read,
    revokeToken: kernel.revoker.revokeToken,
    revoke: kernel.revoker.revokeAuthorization,
    assertFresh: feed.assertFresh,
  })
  fastify.addHook('onReady', async () => {
    doors.close()
    await kernel.start()
    if (seeds && config.SEED_FILE !== undefined) await kernel.seeder.applyFile(config.SEED_FILE)
  })
  fastify.addHook('onClose', async () => kernel.stop())
}

export default fp(oauth, { name: 'latchkey-oauth', fastify: '5.x' })
