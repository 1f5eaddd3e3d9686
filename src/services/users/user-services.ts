/** Everything about people, put together in the order of their needs: who they are, where they are signed in, what they allowed. */
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../../config.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import type { Database } from '../../store/database.ts'
import type { ArtifactStore } from '../artifact-store.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { ChangeFeed } from '../change-feed.ts'
import type { Directory } from '../directory.ts'
import type { HashingQueue } from '../hashing/hashing-queue.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import type { Audiences } from '../tokens/audiences.ts'
import type { GivenBeside } from '../tokens/given-beside.ts'
import type { OutboxTrail } from '../outbox/outbox.ts'
import { createAccountDeletions, type AccountDeletions } from './account-deletions.ts'
import { createConsents, type Consents } from './consents.ts'
import { djangoPasswords } from './django-passwords.ts'
import { createExternalIds, type ExternalIds } from './external-ids.ts'
import { createFirstAdministrator, type FirstAdministrator } from './first-administrator.ts'
import { createGroups, type Groups } from './groups.ts'
import { createRoles, type Roles } from './roles.ts'
import { createKnownBrowsers, type KnownBrowsers } from './known-browsers.ts'
import { createAssurance, type Assurance } from './assurance.ts'
import { createHashChosen } from './chosen-passwords.ts'
import { createPasswordRemoval, type PasswordRemoval } from './password-removal.ts'
import { createEmailLinks, type EmailLinks } from './email-links.ts'
import { createInvitations, type Invitations } from './invitations.ts'
import { createMailedLinks } from './mailed-links.ts'
import { createPasswordLinks, type PasswordLinks } from './password-links.ts'
import { createPasswordResets, type PasswordResets } from './password-resets.ts'
import { createPasswords, type PasswordRules } from './passwords.ts'
import { createPendingSessions, type PendingSessions } from './pending-sessions.ts'
import { createSessions, type Sessions } from './sessions.ts'
import { createSignUps, type SignUps } from './sign-ups.ts'
import { createTokenRevocation, type TokenRevocation } from './token-revocation.ts'
import { createUserChange } from './user-changes.ts'
import { createUserExport, type OwnUserExport } from './user-export.ts'
import { createUserRecords, type UserRecordKeeper } from './user-records.ts'
import { createUserRegistry, type UserRegistry } from './user-registry.ts'

export interface UserServices {
  readonly users: UserRegistry & PasswordRemoval & TokenRevocation & UserRecordKeeper & OwnUserExport
  readonly sessions: Sessions
  readonly pendingSessions: PendingSessions
  readonly assurance: Assurance
  readonly knownBrowsers: KnownBrowsers
  readonly consents: Consents
  readonly passwordLinks: PasswordLinks
  readonly passwordResets: PasswordResets
  readonly invitations: Invitations
  readonly emailLinks: EmailLinks
  readonly signUps: SignUps
  readonly firstAdministrator: FirstAdministrator
  readonly accountDeletions: AccountDeletions
  readonly externalIds: ExternalIds
  readonly groups: Groups
  readonly roles: Roles
}

export interface UserServicesOptions {
  config: Config
  database: Database
  doors: DoorRegistry
  audit: AuditTrail
  feed: ChangeFeed
  directory: Directory
  box: SecretBox
  artifacts: ArtifactStore
  audiences: Audiences
  givenBeside: GivenBeside
  outbox: Pick<OutboxTrail, 'enqueueBy' | 'announce'>
  hashing: HashingQueue
  rules: PasswordRules
  log: FastifyBaseLogger
}

export function createUserServices(options: UserServicesOptions): UserServices {
  const { config, database, doors, audit, feed, directory, box, artifacts, audiences, givenBeside } = options
  const { hashing, rules, log, outbox } = options
  const { issuer, production } = config
  const passwords = createPasswords(hashing, djangoPasswords, rules)
  const hashChosen = createHashChosen({ passwords, production, log })
  const changeUser = createUserChange(audit, feed)
  const { createWith, ...registry } = createUserRegistry({
    database,
    audit,
    changeUser,
    box,
    passwords,
    hashChosen,
    waysInBy: async (query, id) => records.waysInBy(query, id),
    log,
  })
  const lasting = { idle: config.OIDC_SESSION_IDLE, expire: config.OIDC_SESSION_EXPIRE }
  const sessions = createSessions(database, audit, lasting)
  const consents = createConsents(database, audit, doors, audiences, givenBeside)
  const records: UserRecordKeeper = createUserRecords({
    database,
    audit,
    changeUser,
    directory,
    box,
    signInMethods: () => doors.owners('signInMethod'),
    createWith,
  })
  const exporting = createUserExport({ registry, records, artifacts, sessions, consents })
  const groups = createGroups({ database, audit, feed, doors })
  const links = createMailedLinks({ database, audit, box, artifacts: artifacts.artifacts })
  const removal = createPasswordRemoval(changeUser, records)
  const users = { ...registry, ...removal, ...createTokenRevocation(changeUser), ...records, ...exporting }
  return {
    users,
    sessions,
    pendingSessions: createPendingSessions(database, audit, lasting),
    assurance: createAssurance(doors, directory),
    knownBrowsers: createKnownBrowsers(database, box),
    consents,
    passwordLinks: createPasswordLinks({ database, audit, changeUser, hashChosen, issuer }),
    emailLinks: createEmailLinks({ database, changeUser, box, artifacts: artifacts.artifacts }),
    passwordResets: createPasswordResets({ links, changeUser, hashChosen }),
    invitations: createInvitations({ database, audit, links }),
    signUps: createSignUps({ box, artifacts: artifacts.artifacts, hashChosen, createWith }),
    firstAdministrator: createFirstAdministrator(users, artifacts.artifacts),
    accountDeletions: createAccountDeletions({ database, changeUser, feed, outbox, log }),
    externalIds: createExternalIds(database, records, directory),
    groups,
    roles: createRoles({ database, groups, directory, users }),
  }
}
