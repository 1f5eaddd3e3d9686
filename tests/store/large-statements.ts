/** What each statement of the store is asked on a large database, and how much it may read for that: rows and index entries. */
import { createHash } from 'node:crypto'
import { firstUuidAt } from '../../src/protocol/uuid.ts'
import { createUuid } from '../../src/protocol/uuid.ts'
import { statements as codes } from '../../src/store/authorization-codes.ts'
import { statements as authorizations } from '../../src/store/authorizations.ts'
import { BATCH } from '../../src/store/expired.ts'
import { NIL } from '../../src/protocol/uuid.ts'
import { seedQuestions } from './large-seed-statements.ts'

export type Question = readonly [values: readonly unknown[], most: number]

/** A twentieth of everything is the first user's, and half of it the first client's; the seventh has a usual share. */
const HOLDER = idOf('user-1')
const SOMEBODY = idOf('user-7')
const AUTHORIZATION = idOf('authorization-400')
const END = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const UUID = createUuid(Date.now())
const now = new Date()
const later = new Date(Date.now() + 60_000)
const PAGE = 51
/** What one user or client with a usual share may hold, and what leads there. */
const FEW = 40
const batch = Array.from({ length: BATCH }, (_, n) => idOf(`authorization-${n + 1000}`))
/** Each of a batch is found, and read once more to be removed. */
const REMOVAL = 3 * BATCH

const authorization = {
  id: UUID,
  clientId: 'client-1',
  subject: HOLDER,
  scopes: ['openid'],
  resources: [],
  parameters: {},
}
const exchanged = { ...authorization, code: 'hash', refreshToken: 'refresh', refreshLifetime: 60 }
const opaque = { opaqueHash: 'opaque', opaqueClaims: {}, opaqueExpiresAt: later }

const found = (driver: string | null, type: string | null = null) => [
  driver,
  END,
  NIL,
  PAGE,
  type,
  null,
  null,
  null,
]

/** By the name of the statement. */
export const questions: Readonly<Record<string, Question>> = {
  ...seedQuestions,
  'artifact-put': [['kind', 'hash', {}, 60], 0],
  'artifact-put-owned': [['interaction-progress', 'hash', {}, 60, 'owner', 32], 0],
  'artifact-put-of-user': [['invitation', 'hash', {}, 60, SOMEBODY, 100], 1],
  'artifact-get': [['interaction', ['hash']], 1],
  'artifact-delete': [['interaction', ['hash']], 1],
  'artifacts-list': [['owner', 'invitation', '', 100], 1],
  'artifacts-of-owner': [['owner', '', '', 100], 1],
  'artifacts-delete-owned-of-kind': [['owner', 'password-reset'], 1],
  'artifacts-delete-owned': [['owner'], 1],
  'artifact-replace': [['interaction', ['hash'], {}, {}], 1],
  'artifact-spend': [['interaction', ['hash']], 1],
  'audit-events-insert': [['[]'], 0],
  'audit-events-list': [found(null), 5000],
  'audit-events-by-request': [found(idOf('request-19')), 4],
  'audit-events-by-user': [found(HOLDER, 'client.deleted'), 10_000],
  'audit-events-by-client': [found('client-1', 'client.deleted'), 10_000],
  'audit-events-by-type': [found('client.deleted'), 4],
  'audit-events-forget-user': [[UUID], 0],
  'audit-events-expired': [[firstUuidAt(Date.now() - 80 * 86_400_000)], REMOVAL],
  'activity-count': [[UUID, now, ['token.issued'], [1]], 0],
  'activity-since': [[new Date(Date.now() - 86_400_000)], 500],
  'activity-expired': [[], REMOVAL],
  'authorization-code-insert': [
    codes.insert.values({
      authorizationId: UUID,
      hash: 'hash',
      clientId: 'client-1',
      subject: HOLDER,
      redirectUri: 'https://app.example',
      granted: {},
      proof: 'proof',
      lifetime: 60,
      sid: UUID,
      consent: UUID,
    }),
    1,
  ],
  'authorization-code-find': [[AUTHORIZATION, 'hash'], 1],
  'authorization-code-exchange': [codes.exchange.values(exchanged), 1],
  'authorization-code-exchange-opaque': [codes.exchangeForOpaque.values({ ...exchanged, ...opaque }), 1],
  'authorization-codes-expired': [[], REMOVAL],
  'authorization-find-by-code': [[AUTHORIZATION, 'proof'], 1],
  'authorization-insert': [authorizations.insert.values({ ...authorization, user: HOLDER }), 1],
  'authorization-insert-consented': [
    authorizations.insertConsented.values({ ...authorization, user: HOLDER, consent: UUID }),
    2,
  ],
  'authorization-find': [[AUTHORIZATION], 1],
  'authorization-revoke': [[AUTHORIZATION, 'cause'], 1],
  'authorizations-of-user': [[HOLDER, AUTHORIZATION, PAGE], 3 * PAGE],
  'authorizations-of-session': [[idOf('sid-100'), AUTHORIZATION, PAGE], 3 * PAGE],
  'authorizations-of-client': [['client-1', AUTHORIZATION, PAGE], 3 * PAGE],
  'authorizations-of-clients': [[HOLDER, ['client-1', 'client-21', 'client-41']], 3 * 3 * 100],
  'changes-since': [[new Date(Date.now() - 15_000)], 100],
  'change-record': [[UUID, 'client', 'client-1', null], 0],
  'changes-expired': [[], REMOVAL],
  'client-find': [['client-1'], 5],
  'clients-registered-by': [['registration', 100], 100],
  'clients-search': [['Client', PAGE, '', ''], 2 * PAGE],
  // Each with one secret of theirs.
  'clients-list': [['client-5', PAGE], 3 * PAGE],
  'clients-listed': [[Array.from({ length: PAGE }, (_, n) => `client-${n + 1}`)], 4 * PAGE],
  'primary-position': [[], 0],
  'client-secret-rehash': [[idOf('secret-1'), 'hash', 'hash'], 1],
  'client-secret-reseal': [[idOf('secret-1'), 'sealed', 'sealed', 'hash'], 1],
  'scopes-find': [[['scope-1', 'scope-2']], 4],
  'resources-find': [[['https://api-1.example']], 4],
  // All resources, by the janitor, once a round.
  'resources-longest-lifetime': [[], 1000],
  'consent-find': [[HOLDER, 'client-1', null], 1],
  'consent-forget-void': [[HOLDER, 'client-1', null], 1],
  'consent-grant': [[HOLDER, 'client-1', ['openid'], [], {}, 100, ['email'], [], null, null], 3],
  'consents-expired': [[], REMOVAL],
  'client-document-find': [['https://app-7.example/client.json'], 1],
  'client-document-keep': [['https://new.example/client.json', {}, now, later, later, later, 100], 102],
  'client-documents-expired': [[], REMOVAL],
  'consents-connected': [[HOLDER, '', PAGE], 5 * PAGE],
  'consents-forget-all': [[SOMEBODY], FEW],
  'consent-forget': [[HOLDER, 'client-1'], 1],
  'consent-codes-delete': [[SOMEBODY, 'client-1'], FEW],
  'consent-authorizations-revoke': [[SOMEBODY, 'client-8'], FEW],
  // With their refresh tokens and sessions.
  'authorizations-due': [[90_000], 3 * BATCH],
  'authorizations-keep': [[batch, batch.map(() => later)], 2 * BATCH],
  'refresh-tokens-remove': [[batch], 4 * BATCH],
  'authorization-codes-remove': [[batch], 4 * BATCH],
  'authorizations-remove': [[batch], 4 * BATCH],
  'sessions-end': [[SOMEBODY, null], FEW],
  'authorization-codes-end': [[SOMEBODY, null], FEW],
  'authorizations-end': [[SOMEBODY, null, 'cause'], FEW],
  'sessions-end-one': [[SOMEBODY, UUID], FEW],
  'authorization-codes-end-one': [[SOMEBODY, UUID], FEW],
  'authorizations-end-one': [[SOMEBODY, UUID, 'cause'], FEW],
  'sessions-end-others': [[SOMEBODY, null], FEW],
  'authorization-codes-end-others': [[SOMEBODY, null], FEW],
  'authorizations-end-others': [[SOMEBODY, null, 'cause'], FEW],
  'pending-sessions-end': [[SOMEBODY, null], FEW],
  'pending-sessions-end-one': [[SOMEBODY, UUID], FEW],
  'pending-sessions-end-others': [[SOMEBODY, null], FEW],
  'pending-sessions-expired': [[], REMOVAL],
  'pending-session-begin': [['new', 'old', SOMEBODY, now, ['pwd'], null, null, null, now, 900, 10, UUID], 20],
  'pending-session-find': [['hash'], 2],
  'pending-session-raise': [['hash', 'new', ['pwd'], null], 1],
  'pending-session-take': [['hash'], 1],
  'pending-sessions-of-user': [[SOMEBODY], FEW],
  'plugin-record-get': [['organisation', 'organisation-7'], 1],
  'plugin-record-find': [['organisation', 'organisation-7.example'], 1],
  // It looks how many there are, up to so many.
  'plugin-record-put': [['organisation', 'id', {}, null, 1000], 1000],
  'plugin-record-replace': [['organisation', 'organisation-7', {}, null, 0], 1],
  'plugin-record-reseal': [['organisation', 'organisation-7', {}, {}], 1],
  'plugin-record-delete': [['organisation', 'organisation-7'], 1],
  'plugin-records-next': [['organisation', 'organisation-7'], 200],
  'plugin-records-list': [['organisation', 'organisation-7', 100], 100],
  'user-record-get': [[SOMEBODY, 'kind', 'id'], 1],
  'user-record-put': [[UUID, 'kind', 'id', {}, null], 1],
  'user-record-replace': [[SOMEBODY, 'kind', 'id', {}, 0], 1],
  'user-record-reseal': [[SOMEBODY, 'kind', 'id', {}, {}], 1],
  'user-record-delete': [[SOMEBODY, 'kind', 'id'], 1],
  'user-record-owner': [['kind id'], 1],
  'user-record-kinds': [[SOMEBODY], FEW],
  'user-records-delete-kinds': [[SOMEBODY, ['kind']], FEW],
  'user-ways-in': [[SOMEBODY, true, ['kind']], FEW],
  'user-lock-ways-in': [[SOMEBODY], 1],
  'user-records-list': [[SOMEBODY, 'kind'], FEW],
  'user-records-next': [[SOMEBODY, 'kind', 'id'], 200],
  'user-records-of-user': [[SOMEBODY], FEW],
  'artifacts-expired': [[], REMOVAL],
  'access-tokens-expired': [[], REMOVAL],
  'revoked-tokens-expired': [[], REMOVAL],
  'sessions-expired': [[], REMOVAL],
  'throttles-expired': [[], REMOVAL],
  'spent-handles-expired': [[], REMOVAL],
  'handle-spend': [['hash', later], 1],
  'figures-counts': [[1001], 3 * 1001],
  'outbox-enqueue': [[[UUID], ['kind'], ['sealed']], 0],
  // Of all that there is, as few as it holds.
  'outbox-crowded': [[100_000], 100_000],
  'outbox-claim': [[['kind'], 30, 10], 40],
  'outbox-next': [[['kind']], 10],
  'outbox-done': [[UUID], 1],
  'outbox-failed': [[UUID, 1, 60, 'why', false], 1],
  'outbox-release': [[UUID, 1], 1],
  'outbox-given-up': [[NIL, PAGE], 2 * PAGE],
  'outbox-waiting': [[501], 2 * 501],
  'outbox-retry': [[UUID], 1],
  'outbox-retry-all': [[BATCH], 2 * BATCH],
  'outbox-expired': [[], REMOVAL],
  'refresh-token-insert': [[UUID, 'hash', 60], 0],
  'refresh-token-find': [[AUTHORIZATION], 2],
  'refresh-token-confirm': [[AUTHORIZATION, 'hash'], 2],
  'refresh-token-rotate': [[AUTHORIZATION, 'hash', 'next', 'sealed', 60], 2],
  'refresh-token-rotate-opaque': [[AUTHORIZATION, 'hash', 'next', 'sealed', 60, 'opaque', {}, later], 2],
  'initial-token-create': [['new', 'hash', 1, 60, {}], 1],
  'initial-token-delete': [['partner-7'], 1],
  'initial-token-find': [['hash'], 1],
  'initial-tokens-list': [['partner-7', PAGE], PAGE],
  'initial-tokens-expired': [[], REMOVAL],
  'registration-find': [['client-8'], 1],
  'registration-advance': [['client-8', 'hash', 'next'], 1],
  'registration-holds-tokens': [['client-8'], 2],
  'registration-heard': [['client-8', now], 1],
  // Each with its client, and the last event of it.
  'registrations-unheard': [['registration', 86_400, 100, NIL], 4 * 100],
  // All secrets: `doctor` counts them.
  'secret-key-uses': [[], 20_000],
  'server-secret': [['name'], 1],
  // All of them: a few.
  'server-secrets': [[], 10],
  'server-secret-insert': [['name', 'sealed'], 0],
  'upstreams-all': [[1000], 20],
  'upstream-reseal': [['corp', 'sealed', 'sealed'], 20],
  'upstream-delete': [['corp'], 20],
  'server-secret-reseal': [['name', 'sealed', 'sealed'], 1],
  'session-renew': [['new', 'old', SOMEBODY, now, ['pwd'], null, null, null, 60, 60], 1],
  'session-start': [['new', 'old', SOMEBODY, now, ['pwd'], null, null, null, 60, 60, UUID, now], 2],
  'session-find': [['hash'], 2],
  'session-of-cookie': [['hash'], 1],
  'session-is-open': [[idOf('sid-100')], 1],
  'session-is-of-user': [[SOMEBODY, UUID], FEW],
  'sessions-of-user': [[HOLDER], 500],
  'session-raise': [['hash', 'new', ['pwd'], null], 1],
  'session-touch': [['hash', 60], 1],
  // All keys that live: a few.
  'signing-keys': [[], 10],
  'signing-key-insert': [['kid', 'ES256', '', {}, 'sealed', now], 0],
  'signing-key-succeed': [['kid', later], 1],
  'signing-key-revoke': [['kid', now], 1],
  'signing-key-forward': [['kid', now], 1],
  'signing-key-reseal': [['kid', 'sealed', 'sealed'], 1],
  'signing-keys-prune': [[], 10],
  'throttle-fail': [['source', ['*'], [1000], [10_000]], 0],
  'throttle-forgive': [['source', '*'], 1],
  'throttles-blocked': [[], 100],
  'access-token-insert': [[AUTHORIZATION, 'hash', {}, later], 0],
  'access-token-find': [[AUTHORIZATION, 'hash'], 1],
  'granted-token-find': [[AUTHORIZATION, 'hash'], 2],
  'access-token-revoke': [[AUTHORIZATION, 'hash'], 1],
  'revoked-token-insert': [['jti', later], 0],
  // All that live, when a server starts: every process holds them.
  'revoked-tokens': [[], 5000],
  'user-by-id': [[HOLDER], 1],
  'user-by-key': [['user-7'], 1],
  'user-by-name-or-email': [['user-7'], 2],
  'user-by-email': [['user-7@example.com'], 1],
  'user-claim-email': [[SOMEBODY, 'somebody@example.com'], 1],
  'users-claim-emails': [[[SOMEBODY], ['somebody@example.com']], 2],
  'users-unclaimed-emails': [[3], 3],
  'user-lock': [['user-7'], 1],
  'user-knows-browsers': [['user-7', new Date()], 1],
  'user-forget-browsers': [[SOMEBODY, new Date()], 1],
  'users-list': [['user-5', PAGE], PAGE],
  'users-search': [['user-', PAGE, 'user-', '', NIL], 3 * PAGE],
  'users-has-role': [['admin'], 10],
  'users-lock-role': [['admin'], 10],
  'user-insert': [[UUID, 'somebody', 'somebody', null, [], {}, null], 0],
  'user-update': [['user-7', {}, null, null], 1],
  'user-delete': [[UUID], 1],
  'user-begin-deletion': [[SOMEBODY, 60], 1],
  'user-cancel-deletion': [[UUID], 0],
  'users-deletion-due': [[20, null, null], 20],
  'user-lock-due': [[SOMEBODY], 1],
  'user-disable': [['user-7'], 1],
  'user-enable': [['user-7'], 1],
  'user-rehash': [[SOMEBODY, null, 'hash'], 1],
  'user-remove-password': [[SOMEBODY], 1],
  'user-put-password-link': [[SOMEBODY, 'hash', 60], 1],
  'user-by-password-link': [['hash'], 1],
  'user-spend-password-link': [['hash', 'hash'], 1],
}

/** As the ids are that a large database has. */
function idOf(text: string): string {
  const md5 = createHash('md5').update(text).digest('hex')
  return md5.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
