/** What of the services is for everybody, as a part of `fastify.oauth`: what is registered and what is known, and what is made of it. */
import type { FastifyInstance } from 'fastify'
import type { Config } from '../../src/config.ts'
import type { Call } from '../../src/doors/back-channel.ts'
import type { Client } from '../../src/doors/client.ts'
import type { Granted, Verified } from '../../src/doors/facts.ts'
import type { Dispatched } from '../../src/doors/kinds.ts'
import type { Endpoints } from '../../src/http/endpoint.ts'
import type { ConnectedRequest } from '../../src/http/trusted-proxy.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import type { Audit } from '../../src/services/audit/audit.ts'
import type { ClientKeys } from '../../src/services/clients/client-keys.ts'
import type { ClientRegistry } from '../../src/services/clients/client-registry.ts'
import type { ParseOpenMetadata } from '../../src/services/clients/open-metadata.ts'
import type { ResourceEntry, ScopeEntry } from '../../src/services/directory.ts'
import type { PublishedKeys } from '../../src/services/keys/published-keys.ts'
import type { Languages } from '../../src/services/languages/languages.ts'
import type { Mailer } from '../../src/services/mail.ts'
import type { ResourceRegistry } from '../../src/services/resource-registry.ts'
import type { Approvals } from '../../src/services/tokens/approval-requests.ts'
import type { AuthorizationRequests } from '../../src/services/tokens/authorization-requests.ts'
import type { Authorizations } from '../../src/services/tokens/authorizations.ts'
import type { SubjectOf } from '../../src/services/tokens/subjects.ts'
import type { PasswordRemoval } from '../../src/services/users/password-removal.ts'
import type { Sessions } from '../../src/services/users/sessions.ts'
import type { TokenRevocation } from '../../src/services/users/token-revocation.ts'
import type { UserExport } from '../../src/services/users/user-export.ts'
import type { UserRecordKeeper } from '../../src/services/users/user-records.ts'
import type { UserRegistry } from '../../src/services/users/user-registry.ts'
import type { User } from '../../src/services/users/user.ts'

export interface OAuthServices {
  /** The issuer identifier: the public base URL, as the tokens and the metadata say it, without a slash at its end (RFC 8414 §2). */
  readonly issuer: string
  /**
   * The app, where no path of the issuer stands before what is registered: for what a standard puts there, such as the metadata of a
   * plugin's own resource (RFC 9728 §3.1).
   */
  readonly root: FastifyInstance
  /** `basePath`: the path of the issuer, `''` at the root. `production`: whether this is a production start. `BRAND_NAME`: what people call the server. */
  readonly config: Pick<Config, 'basePath' | 'production' | 'BRAND_NAME'>
  /**
   * Clients, registered, changed and deleted as an administrator does it: by the names of RFC 7591 §2, with `scope` as a list. Throws `OAuthError`
   * that names the member. Other processes serve what is changed within two seconds.
   */
  readonly clients: ClientRegistry
  /** Resources, by their identifiers (RFC 8707 §2), and the scopes that belong to them. Throws `OAuthError` (`invalid_client_metadata`) that names the member. */
  readonly resources: ResourceRegistry
  /**
   * Users: found, registered, changed and deleted, with what plugins keep of them. Members have the names of the standard claims (OpenID Connect
   * Core §5.1), instants are milliseconds since the epoch. Throws `OAuthError` (`invalid_request`) that names the member.
   */
  readonly users: UserRegistry & PasswordRemoval & TokenRevocation & UserRecordKeeper & UserExport
  /** The keys that sign tokens: what is published of each (RFC 7517), and never what it signs with. */
  readonly keys: PublishedKeys
  /** Where users are signed in. */
  readonly sessions: Pick<Sessions, 'isOpen' | 'list' | 'endOne' | 'endAll'>
  /** What clients hold of users. */
  readonly authorizations: Authorizations
  /** In which languages the server speaks, and what it says in them; catalogues are added while it starts. */
  readonly languages: Pick<Languages, 'tags' | 'add' | 'of'>
  /** Letters to people. */
  readonly mail: Mailer
  /** What has happened: to be noted, listened to and asked for. */
  readonly audit: Audit

  /** The registered endpoints. */
  readonly endpoints: Endpoints['all']
  /** Owners of a dispatched kind, by key. */
  owners<K extends keyof Dispatched>(kind: K): ReadonlyMap<string, Dispatched[K]>
  /** One that is not registered here (`clientSource`) as it was last known. */
  findClient(clientId: string): Promise<Client | null>
  /** The client that begins something, such as a request to a person: one that is not registered here as it is now. Throws `OAuthError`. */
  admitClient(clientId: string): Promise<Client | null>
  /**
   * What a stranger says of a client of its own, judged as a registration is and made into what is stored of it. Throws `OAuthError`
   * with a code of RFC 7591 §3.2.2.
   */
  readonly parseOpenMetadata: ParseOpenMetadata
  /** What is registered of a scope, and of a resource. */
  findScope(name: string): Promise<ScopeEntry>
  findResource(identifier: string): Promise<ResourceEntry | null>
  /** By the id, also a disabled one; what a client calls them is `subjectOf`. From memory, two seconds old at most. */
  findUser(id: string): Promise<User | null>
  /** The `sub` by which a client knows a user (OpenID Connect Core §8). */
  readonly subjectOf: SubjectOf

  /**
   * What `client` asks an end-user to approve by the parameters of `wire`: the rules of the authorization endpoint for
   * scopes, resources and registered parameters, for other endpoints too. Throws `OAuthError`.
   */
  readonly parseApproval: Approvals['parse']
  /**
   * A whole authorization request of `client`, as the authorization endpoint has it: a request object that `wire` holds is
   * opened, redirect URI, response type and mode and every check hold. With `source`, checks are told that the request will
   * come by that request source of the caller's. Throws `OAuthError`.
   */
  readonly parseRequest: AuthorizationRequests['parse']
  /**
   * Parameters that an authorization request has by what its client shows as it sends it by itself (RFC 9449 §10.1): for
   * `parseRequest`, and for whoever keeps the request to give it on (`SourcedRequest.shown`). Throws `OAuthError`.
   */
  parametersShownBy(call: Call): Promise<Wire>
  /**
   * Whether `secret` is the client's now; takes the same time when there is no client. Give the client_id of the request
   * as `claimed`: many who ask the same of one client at once share one slow hash, whether that client exists or not.
   */
  checkSecret(client: Client | null, secret: string, claimed?: string): Promise<boolean>
  /** The public keys of clients: which has signed a JWT, and to which something is encrypted. */
  readonly clientKeys: ClientKeys
  /**
   * Whether a request comes from a proxy that the operator trusts (TRUSTED_PROXIES; in an app that embeds the server, its `trustProxy`), so
   * that a header which the proxy sets can be believed: it takes the same one away from everybody else. False where nobody is named.
   */
  isFromTrustedProxy(request: ConnectedRequest): boolean
  /**
   * The only mint: the token response of RFC 6749 §5.1 for what a grant has established, `expires_in` in seconds. Policies are asked, and scopes and
   * resources checked against what the client has. Then what is granted is stored, and what it `spends` is spent, in one transaction. Throws
   * `OAuthError`, and nothing is spent or stored: `invalid_scope`, `invalid_target` (RFC 8707 §2), `invalid_grant` for what was used before or has
   * ended, and what a policy throws.
   */
  issue(granted: Granted, call: Call): Promise<Bag>
  /** Null for a token that is not good now. Throws 503 when it cannot be decided. */
  verify(token: string): Promise<Verified | null>
  /** The claims of an access token that we issued, good or not any more; null for all others. */
  readToken(token: string): Promise<Bag | null>
  /** Ends one access token of ours. */
  revokeToken(token: string): Promise<void>
  /** Ends every token of an Authorization; false where it had been revoked, or there is none. */
  revoke(authorizationId: string, cause: string): Promise<boolean>
}
