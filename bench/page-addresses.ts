// Owns which pages are visited: each address of the administration and of the account, with what may be asked of it.

export interface Sample {
  /** The id of a user who holds much, and of one who does not. */
  holder: string
  somebody: string
  /** Of the holder and the client 1. */
  authorization: string
  /** One from the middle of the log, and the request that another one belongs to. */
  event: string
  requestId: string
}

type Query = Readonly<Record<string, string | undefined>>

function address(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`
}

export function administrationPages(sample: Sample): string[] {
  const { holder, somebody, authorization } = sample
  return [
    '/admin',
    '/admin/keys',
    '/admin/mail',
    '/admin/deliveries',
    ...listed('/admin/clients', 'client-5', ['client-', 'Client 9', 'client-99', 'nobody']),
    ...['web', 'app', 'service'].map((type) => address('/admin/clients/new', { type })),
    address('/admin/client', { client_id: 'client-1' }),
    ...[undefined, authorization].map((after) =>
      address('/admin/client/authorizations', { client_id: 'client-1', after }),
    ),
    ...listed('/admin/users', 'user-5', ['user-', 'Name 9', 'mail-99', 'nobody']),
    '/admin/users/new',
    ...[undefined, authorization].map((after) => address('/admin/user', { id: holder, after })),
    address('/admin/user', { id: somebody }),
    ...listed('/admin/roles', 'admin', ['ad', 'nobody']),
    '/admin/roles/new',
    ...[undefined, 'user-5'].map((after) => address('/admin/role', { name: 'admin', after })),
    address('/admin/role', { name: 'admin', search: 'user-' }),
    ...listed('/admin/scopes', 'scope-3', []),
    '/admin/scopes/new',
    address('/admin/scope', { id: 'scope-2' }),
    ...listed('/admin/resources', 'https://api-5.example', []),
    '/admin/resources/new',
    address('/admin/resource', { id: 'https://api-1.example' }),
    '/admin/trusted-issuers',
    '/admin/trusted-issuers/new',
    address('/admin/trusted-issuer', { id: 'https://sts-1.example' }),
    '/admin/upstreams',
    '/admin/upstreams/new',
    address('/admin/upstream', { id: 'upstream-1' }),
    ...auditPages(sample),
  ]
}

export function accountPages({ event }: Sample): string[] {
  return [
    '/account', '/account/profile', '/account/email', '/account/password', '/account/sessions', '/account/activity',
    address('/account/activity', { before: event }), '/account/apps', address('/account/apps', { after: 'client-5' }),
    '/account/security', '/account/security/authenticator', '/account/security/recovery-codes', '/account/linked-sign-ins',
    '/account/data', '/account/data/download', '/account/data/delete',
  ] // prettier-ignore
}

function listed(path: string, after: string, searches: readonly string[]): string[] {
  return [path, address(path, { after }), ...searches.map((search) => address(path, { search }))]
}

/** Everything that can be asked together: what is common, what is rare, and what there is not. */
function auditPages({ holder, somebody, event, requestId }: Sample): string[] {
  const long = { from: '2020-01-01', to: '2020-01-02' }
  const questions: Query[] = [undefined, 'token.issued', 'client.deleted', 'none'].flatMap((type) =>
    [undefined, holder, somebody].flatMap((user) =>
      [undefined, 'client-1', 'client-2', 'none'].flatMap((client_id) =>
        [undefined, requestId].flatMap((request_id) =>
          [{}, long].map((days) => ({ type, user, client_id, request_id, ...days })),
        ),
      ),
    ),
  )
  const exports: Query[] = [
    { type: 'client.deleted' },
    { user: holder, type: 'client.deleted' },
    { user: somebody },
  ]
  return [
    ...questions.map((query) => address('/admin/audit', query)),
    address('/admin/audit', { before: event }),
    address('/admin/audit', { type: 'client.deleted', user: holder, before: event }),
    ...exports.flatMap((query) =>
      ['csv', 'jsonl'].map((format) => address('/admin/audit/export', { ...query, format })),
    ),
  ]
}
