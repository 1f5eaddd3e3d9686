/**
 * What a client may ask an end-user to approve, wherever it asks: the registered parameters, the scopes that it may
 * have, the resources they belong to. Which endpoint asks, and for what response, is for its plugin.
 */
import type { ApprovalRequest } from '../../doors/approval.ts'
import type { Client } from '../../doors/client.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { OPENID_SCOPES, parseScope } from '../../protocol/scope.ts'
import { without, type Wire } from '../../protocol/wire.ts'
import type { Audiences } from './audiences.ts'
import type { GivenBeside } from './given-beside.ts'
import type { Directory } from '../directory.ts'
import { createNarrow, type Narrow } from './narrowing.ts'
import type { RequestParameters } from './request-parameters.ts'

export interface Approvals {
  /** Throws `OAuthError` for what the client may not ask. */
  parse(client: Client, wire: Wire): Promise<ApprovalRequest>
  /**
   * A request that has waited for people, by what is registered now: without what its client may have no more.
   * Throws `OAuthError` when nothing is left, or the client is gone.
   */
  review<Request extends ApprovalRequest>(request: Request): Promise<Request>
  readonly narrow: Narrow
  /** The request as it is approved: one that named no resource is for the default one from then on (`Audiences.defaultFor`). */
  bind<Request extends ApprovalRequest>(request: Request): Promise<Request>
}

/** @internal */
export function createApprovals(
  doors: DoorRegistry,
  requestParameters: RequestParameters,
  directory: Directory,
  audiences: Audiences,
  givenBeside: GivenBeside,
): Approvals {
  /** The scopes of OpenID Connect for every client, and registered scopes that stand in the client's `scope`. */
  async function grantableTo(client: Client, asked: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const granted = new Set<string>()
    for (const name of asked) {
      const known =
        OPENID_SCOPES.has(name) ||
        (client.grantableScopes.has(name) && (await directory.findScope(name)).registered)
      if (known) granted.add(name)
    }
    if (granted.size === 0 && asked.size > 0)
      throw new OAuthError('invalid_scope', 'the client may have none of these scopes')
    return granted
  }

  return {
    narrow: createNarrow(doors, audiences, givenBeside),
    async parse(client, sent) {
      const wire = without(sent, doors.credentials)
      const parameters = await requestParameters.parse(wire, client)
      const { scope, resource = [] } = wire
      const beside = givenBeside.asked(parameters)
      const asked = typeof scope === 'string' ? parseScope(scope) : defaultOf(client, beside !== undefined)
      const scopes = await grantableTo(client, asked)
      const named = await audiences.registered(resource as readonly string[])
      // What says where it is given is given there, whatever the scopes are for (RFC 9396 §3.2).
      const resources = named.length === 0 ? named : [...new Set([...named, ...(beside ?? [])])]
      // RFC 8707 §2: refused here, and not when the person has approved.
      await audiences.resolve(client, { scopes, beside }, resources)
      return { client, scopes, resources, parameters }
    },
    async bind(request) {
      const { client, scopes, resources, parameters } = request
      if (resources.length > 0) return request
      const usual = await audiences.defaultFor(client, scopes)
      const beside = usual.length === 0 ? [] : (givenBeside.asked(parameters) ?? [])
      return { ...request, resources: [...new Set([...usual, ...beside])] }
    },
    async review(request) {
      const client = await directory.findClient(request.client.clientId)
      if (client === null)
        throw new OAuthError('invalid_client', 'the app is not registered any more', { status: 400 })
      const scopes = await grantableTo(client, request.scopes)
      const parameters = givenBeside.review(request.parameters, client)
      const beside = givenBeside.asked(parameters)
      if (scopes.size === 0 && beside === undefined)
        throw new OAuthError('invalid_scope', 'the client may have nothing of it any more')
      const resources = await audiences.left({ scopes, beside }, request.resources)
      await audiences.resolve(client, { scopes, beside }, resources)
      return { ...request, client, scopes, resources, parameters }
    },
  }
}

/** What the client registered for requests without a scope (RFC 6749 §3.3): there is no default for all, and no need where something is asked beside. */
function defaultOf({ metadata }: Client, asksBeside: boolean): ReadonlySet<string> {
  const scopes = metadata['default_scope'] as readonly string[] | undefined
  if (scopes === undefined && !asksBeside)
    throw new OAuthError('invalid_scope', 'the parameter scope is missing')
  return new Set(scopes)
}
