/** What an assertion gives: no more than its issuer may, the client may, and the assertion itself says. */
import type { Client } from '../../../../src/doors/client.ts'
import type { Bag } from '../../../../src/protocol/bag.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { parseScope } from '../../../../src/protocol/scope.ts'
import { JwtError } from '../../../../src/protocol/signed-jwt.ts'
import type { TrustedIssuerInformation } from '../../../../src/protocol/trusted-issuer-information.ts'
import type { Audiences } from '../../../../src/services/tokens/audiences.ts'

export interface Allowed {
  readonly scopes: ReadonlySet<string>
  readonly resources: readonly string[]
}

/** Throws `invalid_target` for a resource and `invalid_scope` for scopes that are not within; `JwtError` for claims of no form. */
export type Limit = (
  client: Client,
  from: TrustedIssuerInformation,
  said: Bag,
  sent: { readonly scope?: string | undefined; readonly resource?: readonly string[] | undefined },
) => Promise<Allowed>

export function createLimits({
  registered,
  resourcesOf,
}: Pick<Audiences, 'registered' | 'resourcesOf'>): Limit {
  /** Undefined where nobody says any. */
  async function within(
    resources: readonly string[] | undefined,
    outer: readonly string[] | undefined,
  ): Promise<readonly string[] | undefined> {
    if (resources === undefined || resources.length === 0) return outer
    const named = await registered(resources)
    if (outer !== undefined && named.some((one) => !outer.includes(one)))
      throw new OAuthError('invalid_target', 'the assertion is not for this resource')
    return named
  }

  return async ({ grantableScopes }, from, said, sent) => {
    const ofIssuer = await within(from.resources, undefined)
    const targets = await within(sent.resource, await within(resourcesIn(said), ofIssuer))
    const inAssertion = scopesIn(said)
    const base = (from.scopes ?? []).filter(
      (scope) => scope !== 'openid' && grantableScopes.has(scope) && (inAssertion?.has(scope) ?? true),
    )
    const owners = [...(await resourcesOf(base))]
    const possible = new Map(owners.filter(([, one]) => targets === undefined || targets.includes(one)))
    const scopes = sent.scope === undefined ? new Set(possible.keys()) : parseScope(sent.scope)
    if (scopes.size === 0 || ![...scopes].every((scope) => possible.has(scope)))
      throw new OAuthError('invalid_scope', 'the assertion gives this client no such scope')
    const used = new Set([...scopes].map((scope) => possible.get(scope)!))
    if (sent.resource !== undefined && targets!.some((one) => !used.has(one)))
      throw new OAuthError('invalid_target', 'no granted scope belongs to the resource')
    return { scopes, resources: targets === undefined ? [] : [...used] }
  }
}

function scopesIn({ scope }: Bag): ReadonlySet<string> | undefined {
  if (scope === undefined) return undefined
  if (typeof scope !== 'string') throw new JwtError('its scope is no text')
  return new Set(scope.split(' '))
}

function resourcesIn({ resource }: Bag): readonly string[] | undefined {
  if (resource === undefined) return undefined
  const named: unknown[] = [resource].flat()
  if (!named.every((one) => typeof one === 'string')) throw new JwtError('its resource is no address')
  return named
}
