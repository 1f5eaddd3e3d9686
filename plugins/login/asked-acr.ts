/**
 * What requests and registrations say of how sure the server must be of who is there, as `acr`: the policies for it, and the values
 * that can be reached at all, by what is registered.
 */
import type { FastifyInstance } from 'fastify'
import type { ApprovalRequest } from '../../src/doors/approval.ts'
import type { Reach } from '../../src/doors/assurance.ts'
import type { DoorRegistry } from '../../src/doors/registry.ts'
import type { User } from '../../src/doors/user.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { ACR_VALUES, askedAcr, orderedAcr } from '../../src/protocol/acr.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { Type } from '../../src/protocol/schema.ts'
import { promptsOf } from '../interaction/prompt.ts'
import { reachesAcr } from '../require-scope/acr.ts'

export function addAcrPolicies(fastify: FastifyInstance): void {
  const { oauth } = fastify
  const { doors } = kernelOf(fastify)
  const minimum = Type.Partial(Type.Object({ minimum_acr_value: Type.Enum([...ACR_VALUES]) }))
  oauth.extendClientMetadata(minimum)

  async function canReach(user: User, wanted: string, how: 'by' | 'ready'): Promise<boolean> {
    for (const reach of reachesOf(doors)) {
      const can = reach[how] ?? reach.by
      if (reach.acr.some((one) => reachesAcr(one, wanted)) && ((await can?.(user)) ?? true)) return true
    }
    return false
  }

  /**
   * The first that this user reaches with what they have, else the first for which they set something up (OpenID Connect Core §3.1.2.1); what
   * nobody can reach is no reason to refuse.
   */
  async function firstOf(wished: readonly string[], user: User) {
    for (const how of ['ready', 'by'] as const)
      for (const one of wished) if (await canReach(user, one, how)) return { acr: [one] }
    return null
  }

  // OpenID Connect Core §5.5.1.1: where it cannot be reached, the sign-in has failed.
  oauth.add('assurance', {
    name: 'essential-acr',
    require({ request }) {
      const { demanded } = askedAcr(request.parameters)
      return demanded.length === 0 ? null : { acr: demanded }
    },
  })
  oauth.add('assurance', {
    name: 'acr-values',
    require({ user, request }) {
      // §5.5.1.1: where no page may be shown, what was reached already is enough for a wish.
      if (promptsOf(request).includes('none')) return null
      const { wished } = askedAcr(request.parameters)
      return wished.length === 0 ? null : firstOf(wished, user)
    },
  })
  oauth.add('assurance', {
    name: 'minimum-acr',
    require({ request: { client } }) {
      const least = client.metadata['minimum_acr_value'] as string | undefined
      return least === undefined ? null : { acr: [least] }
    },
  })
  oauth.extend('metadata', async () => {
    const values = reachableAcr(doors)
    return values.length === 0 ? {} : { acr_values_supported: values }
  })
}

/** What somebody can reach here, by what is registered; the weakest first. */
export function reachableAcr(doors: DoorRegistry): string[] {
  return orderedAcr(reachesOf(doors).flatMap(({ acr }) => acr))
}

/** Throws where the request demands what no sign-in here reaches, whoever signs in: so nobody is asked in vain. */
export function assertReachable(doors: DoorRegistry, { client, parameters }: ApprovalRequest): void {
  const least = client.metadata['minimum_acr_value'] as string | undefined
  const reached = reachableAcr(doors)
  for (const values of [askedAcr(parameters).demanded, least === undefined ? [] : [least]])
    if (values.length > 0 && !values.some((wanted) => reached.some((one) => reachesAcr(one, wanted))))
      throw new OAuthError(
        'unmet_authentication_requirements',
        `no sign-in here reaches the acr ${values.join(' or ')}`,
      )
}

function reachesOf(doors: DoorRegistry): Reach[] {
  const all = [...doors.owners('signInMethod').values(), ...doors.all('interactionStep')]
  return all.flatMap(({ reaches }) => (reaches === undefined ? [] : [reaches]))
}
