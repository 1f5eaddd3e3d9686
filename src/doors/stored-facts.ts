/** Facts and requests for approval as JSON and back, for whoever keeps them until a token request comes. */
import type { ApprovalRequest } from './approval.ts'
import type { Client } from './client.ts'
import type { Granted } from './facts.ts'
import type { StoredGranted } from '../protocol/facts.ts'

/** An `ApprovalRequest` as JSON has it. */
export interface StoredApproval extends Omit<ApprovalRequest, 'client' | 'scopes'> {
  /** The client_id. */
  readonly client: string
  readonly scopes: readonly string[]
}

/** What is the same in both shapes: a further fact is a line here. */
const ALIKE = [
  'subject',
  'approvedResources',
  'parameters',
  'approvedParameters',
  'authentication',
  'consent',
  'refreshable',
  'actor',
  'binding',
  'parent',
] as const
type Alike = { -readonly [Name in (typeof ALIKE)[number]]?: Granted[Name] }

/** Without what belongs to the one request that presents it: what that spends, and what it goes on from. */
export function grantedToJson(granted: Granted): StoredGranted {
  const { scopes, resources, notAfter } = granted
  return {
    ...alike(granted),
    resources,
    scopes: [...scopes],
    ...(notAfter === undefined ? {} : { notAfter: new Date(notAfter) }),
  }
}

export function grantedFromJson(stored: StoredGranted): Granted {
  const { scopes, resources, notAfter } = stored
  return {
    ...alike(stored),
    resources,
    scopes: new Set(scopes),
    ...(notAfter == null ? {} : { notAfter: new Date(notAfter).getTime() }),
  }
}

/** Also what a protocol's own request has beside. */
export function approvalToJson({ client, scopes, ...more }: ApprovalRequest): StoredApproval {
  return { ...more, client: client.clientId, scopes: [...scopes] }
}

/** `client` is the one of `stored.client`, as it is registered now. */
export function approvalFromJson(stored: StoredApproval, client: Client): ApprovalRequest {
  return { ...stored, client, scopes: new Set(stored.scopes) }
}

function alike(from: Granted | StoredGranted): Alike {
  const found: Alike = {}
  for (const name of ALIKE) copy(name, from, found)
  return found
}

function copy(name: keyof Alike, from: Granted | StoredGranted, to: Alike): void {
  const value = from[name]
  if (value != null) Object.assign(to, { [name]: value })
}
