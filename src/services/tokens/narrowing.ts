/** What is left of a request where somebody has left out some of its scopes: resources and parameters follow them. */
import type { ApprovalRequest, Parameter } from '../../doors/approval.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import type { Bag } from '../../protocol/bag.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Audiences } from './audiences.ts'
import type { GivenBeside } from './given-beside.ts'

/**
 * The request without `declined`, the names of scopes. Throws `access_denied` where nothing is left of its scopes, or of the
 * resources that it named: tokens would be for others than it asked for.
 */
export type Narrow = <Request extends ApprovalRequest>(
  request: Request,
  declined: ReadonlySet<string>,
) => Promise<Request>

/** @internal */
export function createNarrow(
  doors: DoorRegistry,
  { resourcesOf }: Pick<Audiences, 'resourcesOf'>,
  givenBeside: Pick<GivenBeside, 'asked'>,
): Narrow {
  return async (request, declined) => {
    const scopes = new Set([...request.scopes].filter((name) => !declined.has(name)))
    if (scopes.size === request.scopes.size) return request
    const parameters = parametersWithin(doors.all('parameter'), request.parameters, scopes, declined)
    const beside = givenBeside.asked(parameters)
    const owners = new Set([...(await resourcesOf(scopes)).values(), ...(beside ?? [])])
    const resources = request.resources.filter((one) => owners.has(one))
    if (
      (scopes.size === 0 && beside === undefined) ||
      (resources.length === 0 && request.resources.length > 0)
    )
      throw new OAuthError('access_denied', 'the user allowed nothing of what was asked for')
    return { ...request, scopes, resources, parameters }
  }
}

/** Without what only a declined scope gives: what it holds is not had by another name (OpenID Connect Core §5.5). */
function parametersWithin(
  known: readonly Parameter[],
  sent: Bag,
  scopes: ReadonlySet<string>,
  declined: ReadonlySet<string>,
): Bag {
  const left: Record<string, unknown> = { ...sent }
  for (const { name, consent, decline } of known) {
    const value = sent[name]
    if (value === undefined || consent === undefined) continue
    const gone = consent(value)
      .filter(({ scopes: givers = [] }) => givers.some((one) => declined.has(one)))
      .filter(({ scopes: givers = [] }) => !givers.some((one) => scopes.has(one)))
    if (gone.length > 0) left[name] = decline?.(value, new Set(gone.map(({ key }) => key)))
  }
  return left
}
