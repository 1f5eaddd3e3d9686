/** An upstream between its row and its members, and what the audit log is told of a change. */
import type { NewEvent } from '../../events.ts'
import { changesBetween } from '../../protocol/changes.ts'
import { type StoredUpstream, upstreamInformation } from '../../protocol/upstream-information.ts'
import type { UpstreamRow } from '../../store/upstreams.ts'

export function toStored(row: UpstreamRow): StoredUpstream {
  return {
    id: row.id,
    kind: (row.kind ?? null) as StoredUpstream['kind'],
    issuer: row.issuer,
    client_id: row.clientId,
    client_secret: row.clientSecret ?? null,
    authorization_endpoint: row.authorizationEndpoint ?? null,
    token_endpoint: row.tokenEndpoint ?? null,
    userinfo_endpoint: row.userinfoEndpoint ?? null,
    token_endpoint_auth_method: (row.tokenEndpointAuthMethod ??
      null) as StoredUpstream['token_endpoint_auth_method'],
    subject_claim: row.subjectClaim ?? null,
    team_id: row.teamId ?? null,
    key_id: row.keyId ?? null,
    name: row.name ?? null,
    scope: row.scope ?? null,
    domains: row.domains ?? null,
    trust_email: row.trustEmail ?? null,
    sign_up: row.signUp ?? null,
    sign_out: row.signOut ?? null,
    button: row.button ?? null,
    claims: row.claims ?? null,
  }
}

export function toRow(stored: StoredUpstream): UpstreamRow {
  const { id, kind, issuer, name, scope, domains, button, claims } = stored
  return {
    id,
    kind,
    issuer,
    clientId: stored.client_id,
    clientSecret: stored.client_secret,
    authorizationEndpoint: stored.authorization_endpoint,
    tokenEndpoint: stored.token_endpoint,
    userinfoEndpoint: stored.userinfo_endpoint,
    tokenEndpointAuthMethod: stored.token_endpoint_auth_method,
    subjectClaim: stored.subject_claim,
    teamId: stored.team_id,
    keyId: stored.key_id,
    name,
    scope,
    domains,
    trustEmail: stored.trust_email,
    signUp: stored.sign_up,
    signOut: stored.sign_out,
    button,
    claims,
  }
}

/** What a secret is sealed for: moved to another upstream, it is none. */
export function secretContext(id: string): string {
  return `upstream ${id}`
}

/** Null where nothing changes. */
export function changeEvent(before: StoredUpstream | undefined, after: StoredUpstream): NewEvent | null {
  const was = before === undefined ? {} : { ...upstreamInformation(before) }
  const changes = changesBetween(was, { ...upstreamInformation(after) })
  const secret = (before?.client_secret ?? null) !== after.client_secret
  if (before !== undefined && !secret && Object.keys(changes).length === 0) return null
  const type = before === undefined ? 'upstream.registered' : 'upstream.changed'
  return { type, details: { upstream: after.id, changes, ...(secret ? { secret } : {}) } }
}
