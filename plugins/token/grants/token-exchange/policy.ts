/** What is registered for a client: whose tokens it may exchange, on behalf of whom, for which resources and scopes. Nothing by default. */
import type { Client } from '../../../../src/doors/client.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import type { ExchangeRule } from '../../../../src/protocol/exchange-rules.ts'
import type { Audiences } from '../../../../src/services/tokens/audiences.ts'
import { isFrom, NOT_GOOD, refused, type Source } from './source.ts'

/** What the request names; undefined scopes for those that it may have. */
export interface Wanted {
  readonly resources: readonly string[]
  readonly scopes: ReadonlySet<string> | undefined
}

export interface Allowed {
  readonly resources: readonly string[]
  readonly scopes: ReadonlySet<string>
  /** Whether the token says who acts. */
  readonly delegation: boolean
}

/** Throws `invalid_request` for tokens, `invalid_target` for resources and `invalid_scope` for scopes that no rule allows together. */
export type Decide = (
  client: Client,
  subject: Source,
  actor: Source | undefined,
  wanted: Wanted,
) => Promise<Allowed>

export function createPolicy({
  registered,
  resourcesOf,
}: Pick<Audiences, 'registered' | 'resourcesOf'>): Decide {
  /** Of these scopes, those of the resources, by name. */
  async function within(
    scopes: Iterable<string>,
    resources: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    const owners = await resourcesOf(scopes)
    return new Map([...owners].filter(([, resource]) => resources.includes(resource)))
  }

  /** Null where it does not allow the scopes. */
  async function grantedBy(
    { scopes: named, delegation = true }: ExchangeRule,
    targets: readonly string[],
    { grantableScopes }: Client,
    { scopes: had, most }: Source,
    wanted: Wanted,
  ): Promise<Allowed | null> {
    const base = [...(named ?? had)].filter(
      (scope) => grantableScopes.has(scope) && (most?.scopes.has(scope) ?? true),
    )
    const possible = await within(base, targets)
    const scopes = new Set(wanted.scopes ?? possible.keys())
    if (scopes.size === 0 || ![...scopes].every((scope) => possible.has(scope))) return null
    const owners = new Set([...scopes].map((scope) => possible.get(scope)!))
    // Each resource that was asked for is for something.
    if (wanted.resources.length > 0 && targets.some((one) => !owners.has(one))) return null
    return { scopes, resources: [...owners], delegation }
  }

  return async (client, subject, actor, sent) => {
    const ofParties = rulesOf(client).filter(
      (rule) => rule.audiences === undefined && allowsParties(rule, client, subject, actor),
    )
    if (ofParties.length === 0) throw refused(NOT_GOOD)
    const wanted = { ...sent, resources: await registered(sent.resources) }
    const outer = subject.most?.resources && (await registered(subject.most.resources))
    let isForTargets = false
    for (const rule of ofParties) {
      const own = await registered(rule.resources)
      if (!wanted.resources.every((one) => own.includes(one))) continue
      isForTargets = true
      const targets = wanted.resources.length > 0 ? wanted.resources : own
      const possible = targets.filter((one) => outer?.includes(one) ?? true)
      const allowed = await grantedBy(rule, possible, client, subject, wanted)
      if (allowed !== null) return allowed
    }
    throw isForTargets
      ? new OAuthError('invalid_scope', 'the client may not have these scopes for that token and resource')
      : new OAuthError('invalid_target', 'the client may not exchange that token for this resource')
  }
}

function allowsParties(
  rule: ExchangeRule,
  { clientId }: Client,
  subject: Source,
  actor: Source | undefined,
): boolean {
  const { actor_clients: actors = [clientId], delegation = true } = rule
  if (!isFrom(subject, rule.subject_clients, rule.subject_issuers)) return false
  return actor === undefined || (delegation && isFrom(actor, actors, rule.actor_issuers))
}

export function rulesOf({ metadata }: Client): readonly ExchangeRule[] {
  return (metadata['token_exchange'] as readonly ExchangeRule[] | undefined) ?? []
}
