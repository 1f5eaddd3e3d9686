/** Who may do what, as it was decided: one row for each route, and each kind of row in one place. */
import { isServed } from '../support/left-out.ts'

export const ROLES = [
  'nobody',
  'user',
  'other user',
  'administrator',
  'disabled administrator',
  'client',
] as const
export type Role = (typeof ROLES)[number]

/** What is answered to a GET, to an empty POST and to any other method: a status, or `sign-in` for being sent there. */
export type Answers = readonly [get: number | 'sign-in', post: number, other: number]

/** Those who are not named get what `nobody` gets. */
type Row = Partial<Record<Role, Answers>> & {
  nobody: Answers
  query?: string
  /** Of methods that are answered otherwise than all others. */
  methods?: Readonly<Record<string, number>>
}

const open = (get: number, post = 405, other = 405): Row => ({ nobody: [get, post, other] })

/** A page of the administration; `get` and `post` are what an administrator is told. */
function administration(get: number, post: number, query?: string): Row {
  const refused: Answers = [403, 403, 403]
  const row: Row = {
    nobody: ['sign-in', 403, 403],
    user: refused,
    'other user': refused,
    administrator: [get, post, 405],
  }
  return query === undefined ? row : { ...row, query }
}

/** A page of a user's own account: of everybody who is signed in. */
function account(get: number, post: number): Row {
  const own: Answers = [get, post, 405]
  return { nobody: ['sign-in', 403, 403], user: own, 'other user': own, administrator: own }
}

const CLIENT = 'client_id=web'
const SCOPE = 'id=read_books'
const ROLE = 'name=admin'
const UPSTREAM = 'id=corp'
const TRUSTED = 'id=https://platform.example'
const RESOURCE = 'id=https://api.example/'
/** The id of the user of the role `user` stands in its place. */
const USER = 'id=:user'

/** By the route, without a slash at its end. No form has its token: 403 where a user of it could send one. */
const ALL: Readonly<Record<string, Row>> = {
  '': open(200),
  '/.well-known/oauth-protected-resource': open(200),
  '/.well-known/oauth-authorization-server': open(200),
  '/.well-known/openid-configuration': open(200),
  '/.well-known/change-password': open(303),
  '/assets/:name': open(200),
  '/assets/client/:name': open(200),
  '/healthz': open(200),
  '/readyz': open(200),
  '/jwks': open(200),

  '/authorize': open(400, 400),
  '/interaction/:id': open(400),
  '/interaction/:id/:step': open(405, 400),
  '/sign-in': { ...account(303, 405), nobody: [200, 405, 405] },
  '/dev/mail': open(200),
  '/dev/mail/:number': open(404),
  '/setup': open(404, 403),
  '/set-password': open(410, 403),
  '/forgot-password': open(200, 403),
  '/sign-up': open(200, 403),
  '/sign-up/confirm': open(410, 403),
  '/confirm-email': open(410, 403),
  '/reset-password': open(410, 403),
  '/invitation': open(410, 403),
  '/end-session': open(200, 200),
  '/check-session': open(200),
  '/upstream/:id/callback': open(400, 400),
  '/upstream/confirm': open(410, 403),
  '/upstream/:id/signed-out': open(303),

  '/token': { nobody: [405, 401, 405], client: [405, 400, 405] },
  '/register': open(405, 415),
  // Each with a token of its own, which no session and no client has.
  '/register/:client_id': { ...open(401), methods: { PUT: 415, DELETE: 401 } },
  '/par': { nobody: [405, 401, 405], client: [405, 400, 405] },
  '/device_authorization': { nobody: [405, 401, 405], client: [405, 400, 405] },
  '/device': open(200, 403),
  '/device/allowed': open(200),
  '/device/denied': open(200),
  '/device/qr.svg': open(400),
  '/backchannel-authentication': { nobody: [405, 401, 405], client: [405, 400, 405] },
  '/approve': open(410),
  '/approve/allowed': open(200),
  '/approve/denied': open(200),
  '/approve/over': open(410),
  '/approve/unmet': open(200),
  '/introspect': { nobody: [405, 401, 405], client: [405, 200, 405] },
  '/revoke': { nobody: [405, 401, 405], client: [405, 400, 405] },
  '/userinfo': open(401, 401),

  // By a token of their own resource.
  '/.well-known/ssf-configuration': open(200),
  '/.well-known/oauth-protected-resource/ssf': open(200),
  '/ssf/stream': { ...open(401, 401), methods: { PUT: 401, PATCH: 401, DELETE: 401 } },
  '/ssf/status': open(401, 401),
  '/ssf/verify': open(405, 401),
  '/ssf/subjects/add': open(405, 401),
  '/ssf/subjects/remove': open(405, 401),
  '/ssf/poll/:stream_id': open(405, 401),

  '/account': account(200, 405),
  '/account/profile': account(200, 403),
  '/account/security': account(200, 405),
  '/account/security/authenticator': account(200, 403),
  '/account/security/authenticator/remove': account(303, 403),
  '/account/security/recovery-codes': account(303, 403),
  '/account/security/approval-code': account(303, 403),
  '/account/password': account(200, 403),
  '/account/password/remove': account(303, 403),
  '/account/email': account(200, 403),
  '/account/sessions': account(200, 405),
  '/account/sessions/end': account(303, 403),
  '/account/sessions/end-others': account(303, 403),
  '/account/apps': account(200, 405),
  '/account/apps/revoke': account(303, 403),
  '/account/apps/revoke-all': account(303, 403),
  '/account/linked-sign-ins': account(200, 405),
  '/account/linked-sign-ins/link': account(303, 403),
  '/account/linked-sign-ins/unlink': account(303, 403),
  '/account/activity': account(200, 405),
  '/account/data': account(200, 405),
  '/account/data/download': account(200, 405),
  '/account/data/delete': account(200, 403),
  '/account-deletion': open(200),

  '/admin': administration(200, 405),
  '/admin/clients': administration(200, 405),
  '/admin/clients/new': administration(200, 403),
  '/admin/client': administration(200, 403, CLIENT),
  '/admin/client/rotate-secret': administration(303, 400, CLIENT),
  '/admin/client/secret': administration(410, 405),
  '/admin/client/delete': administration(303, 403, CLIENT),
  '/admin/client/authorizations': administration(200, 405, CLIENT),
  '/admin/client/revoke': administration(303, 403, CLIENT),
  '/admin/users': administration(200, 405),
  '/admin/users/new': administration(200, 403),
  '/admin/user': administration(200, 403, USER),
  '/admin/user/password-link': administration(303, 403, USER),
  '/admin/user/invite': administration(303, 403, USER),
  '/admin/user/withdraw-invitation': administration(303, 403, USER),
  '/admin/user/link': administration(410, 405),
  '/admin/user/delete': administration(303, 403, USER),
  '/admin/user/reset-factors': administration(303, 403, USER),
  '/admin/user/unlink': administration(303, 403, USER),
  '/admin/user/disable': administration(303, 403, USER),
  '/admin/user/enable': administration(303, 403, USER),
  '/admin/user/keep': administration(303, 403, USER),
  '/admin/user/end-session': administration(303, 403, USER),
  '/admin/user/end-sessions': administration(303, 403, USER),
  '/admin/user/revoke-tokens': administration(303, 403, USER),
  '/admin/user/revoke': administration(303, 403, USER),
  '/admin/roles': administration(200, 405),
  '/admin/roles/new': administration(200, 403),
  '/admin/role': administration(200, 405, ROLE),
  '/admin/role/add': administration(303, 403, ROLE),
  '/admin/role/remove': administration(303, 403, ROLE),
  '/admin/role/rename': administration(303, 403, ROLE),
  '/admin/role/delete': administration(303, 403, ROLE),
  '/admin/scopes': administration(200, 405),
  '/admin/scopes/new': administration(200, 403),
  '/admin/scope': administration(200, 403, SCOPE),
  '/admin/scope/delete': administration(303, 403, SCOPE),
  '/admin/resources': administration(200, 405),
  '/admin/resources/new': administration(200, 403),
  '/admin/resource': administration(200, 403, RESOURCE),
  '/admin/resource/delete': administration(303, 403, RESOURCE),
  '/admin/shared-signals': administration(200, 405),
  '/admin/shared-signals/stream': administration(404, 403),
  '/admin/shared-signals/verification': administration(303, 403),
  '/admin/shared-signals/removal': administration(404, 403),
  '/admin/upstreams': administration(200, 405),
  '/admin/upstreams/new': administration(200, 403),
  '/admin/upstream': administration(200, 403, UPSTREAM),
  '/admin/upstream/delete': administration(303, 403, UPSTREAM),
  '/admin/trusted-issuers': administration(200, 405),
  '/admin/trusted-issuers/new': administration(200, 403),
  '/admin/trusted-issuer': administration(200, 403, TRUSTED),
  '/admin/trusted-issuer/delete': administration(303, 403, TRUSTED),
  '/admin/initial-tokens': administration(200, 405),
  '/admin/initial-tokens/new': administration(200, 403),
  '/admin/initial-tokens/token': administration(410, 405),
  '/admin/initial-tokens/delete': administration(303, 403),
  '/admin/unregistered': administration(200, 403),
  '/admin/unregistered/unblock': administration(303, 403),
  '/admin/keys': administration(200, 405),
  '/admin/keys/rotate': administration(303, 400),
  '/admin/keys/revoke': administration(303, 403),
  '/admin/deliveries': administration(200, 405),
  '/admin/deliveries/retry': administration(303, 403),
  '/admin/mail': administration(200, 403),
  '/admin/webhooks': administration(200, 405),
  '/admin/webhooks/test': administration(303, 403),
  '/admin/webhooks/retry': administration(303, 403),
  '/admin/audit': administration(200, 405),
  '/admin/audit/export': administration(200, 405, 'format=jsonl'),
}

/** Those of plugins that the servers of this run have. */
export const TABLE = Object.fromEntries(Object.entries(ALL).filter(([route]) => isServed(route)))

/** The answers of a row to a role. */
export function answersTo(row: Row, role: Role): Answers {
  return row[role] ?? row.nobody
}
