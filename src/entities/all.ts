/** The list of entities that make up the schema, for MikroORM and its migrations. */
import { AccessToken, RevokedToken } from './access-token.ts'
import { Artifact } from './artifact.ts'
import { Activity, AuditEvent } from './audit-event.ts'
import { AuthorizationCode } from './authorization-code.ts'
import { Authorization } from './authorization.ts'
import { Change } from './change.ts'
import { ClientDocument } from './client-document.ts'
import { Client, ClientSecret } from './client.ts'
import { Consent } from './consent.ts'
import { OutboxEntry } from './outbox-entry.ts'
import { PendingSession } from './pending-session.ts'
import { PluginRecord } from './plugin-record.ts'
import { InitialToken, Registration } from './registration.ts'
import { Recipient } from './recipient.ts'
import { RemovedSubject } from './removed-subject.ts'
import { RefreshToken } from './refresh-token.ts'
import { Resource, ResourceAlias, Scope } from './resource.ts'
import { SecurityEvent } from './security-event.ts'
import { SeedEntry } from './seed-entry.ts'
import { ServerSecret } from './server-secret.ts'
import { Session } from './session.ts'
import { SigningKey } from './signing-key.ts'
import { SpentHandle } from './spent-handle.ts'
import { Throttle } from './throttle.ts'
import { TrustedIssuer } from './trusted-issuer.ts'
import { Upstream } from './upstream.ts'
import { User } from './user.ts'
import { UserRecord } from './user-record.ts'

export const entities = [
  Client, ClientSecret, Resource, ResourceAlias, Scope, SigningKey, ServerSecret,
  User, UserRecord, Session, PendingSession, Consent,
  Authorization, AuthorizationCode, RefreshToken, AccessToken, RevokedToken, Artifact, Change,
  SpentHandle, Throttle, AuditEvent, Activity, SeedEntry, OutboxEntry, Recipient, Upstream, PluginRecord,
  Registration, InitialToken, ClientDocument, TrustedIssuer, SecurityEvent, RemovedSubject,
] // prettier-ignore
