/**
 * Whom and what a record names that is not registered: told beside the answer, and not refused, since it may come later. Until then
 * nothing comes of the record, and whoever is refused for it is not told why.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Bag } from '../protocol/bag.ts'
import type { ExchangeRule } from '../protocol/exchange-rules.ts'
import { isObject } from '../protocol/json.ts'
import { OPENID_SCOPES } from '../protocol/scope.ts'
import { servedGrantTypes } from '../services/clients/served-grant-types.ts'
import type { Kernel } from '../services/kernel.ts'

/** What a member names, by kind. */
export interface Named {
  readonly clients?: readonly string[] | undefined
  readonly issuers?: readonly string[] | undefined
  readonly resources?: readonly string[] | undefined
  readonly scopes?: readonly string[] | undefined
  /** Of plugins that this command has not loaded, the running server may have more. */
  readonly grantTypes?: readonly string[] | undefined
}

/** What a client's members name of others; what is vouched for at others is registered there. */
export function namedBy({ token_exchange: rules, federated_identity: identity }: Bag): Named {
  const all = Array.isArray(rules) ? (rules as readonly ExchangeRule[]) : []
  const here = all.filter(({ audiences }) => audiences === undefined)
  return {
    clients: all.flatMap((rule) => [
      ...(rule.subject_clients ?? []),
      ...(rule.actor_clients ?? []),
      ...(rule.audience_client === undefined ? [] : [rule.audience_client]),
    ]),
    issuers: [
      ...all.flatMap((rule) => [...(rule.subject_issuers ?? []), ...(rule.actor_issuers ?? [])]),
      ...(isObject(identity) ? [String(identity['issuer'])] : []),
    ],
    resources: here.flatMap(({ resources }) => resources),
    scopes: here.flatMap(({ scopes }) => scopes ?? []),
  }
}

export async function warnOfAbsent(
  { clients, trustedIssuers, resources, directory, doors }: Kernel,
  log: FastifyBaseLogger,
  { clients: clientIds, issuers, resources: names, scopes, grantTypes }: Named,
): Promise<void> {
  const absent = {
    clients: await without(clientIds, async (id) => clients.find(id)),
    issuers: await without(issuers, async (issuer) => trustedIssuers.find(issuer)),
    resources: await without(names, async (name) => directory.resourceNamed(name)),
    grant_types: grantTypes?.filter((type) => !servedGrantTypes(doors).has(type)) ?? [],
    scopes: await without(scopes, async (name) => OPENID_SCOPES.has(name) || resources.findScope(name)),
  }
  const found = Object.entries(absent).filter(([, missing]) => missing.length > 0)
  if (found.length > 0)
    log.warn(Object.fromEntries(found), 'not known here: nothing comes of these until they are')
}

async function without(
  names: readonly string[] = [],
  find: (name: string) => Promise<unknown>,
): Promise<string[]> {
  const missing: string[] = []
  for (const name of new Set(names)) {
    const found = await find(name)
    if (found === null || found === false) missing.push(name)
  }
  return missing
}
