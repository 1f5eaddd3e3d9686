/** The grant by which a client gets the tokens of a request that somebody approved (CIBA §10.1, §11). */
import type { FastifyInstance } from 'fastify'
import { grantedFromJson } from '../../../../src/doors/stored-facts.ts'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { Repeatable } from '../../../../src/protocol/parameters.ts'
import { Type } from '../../../../src/protocol/schema.ts'
import { CIBA } from '../../../../src/services/clients/client-kinds.ts'
import { isOfClient } from '../../../../src/services/clients/same-client.ts'
import { assertBound } from '../../../../src/services/tokens/demanded-bindings.ts'
import { assertSignedIn } from '../signed-in-still.ts'
import { REQUEST, type BackchannelRequest, type BackchannelRequests } from './requests.ts'

const NOTHING_MORE = { bound: new Set<string>() }

export function addGrant(fastify: FastifyInstance, requests: BackchannelRequests): void {
  const { oauth } = fastify
  const { doors } = kernelOf(fastify)
  async function refusePending({ id, expiresAt }: BackchannelRequest): Promise<never> {
    if (expiresAt <= Date.now()) throw new OAuthError('expired_token', 'nobody has decided in time')
    if (await requests.poll(id))
      throw new OAuthError('authorization_pending', 'nobody has decided yet; ask again')
    throw new OAuthError('slow_down', 'ask 5 seconds later from now on')
  }

  oauth.registerGrant({
    type: CIBA,
    parameters: Type.Object({ auth_req_id: Type.String(), resource: Type.Optional(Repeatable()) }),
    async authorize({ auth_req_id, resource }, { client, ...shown }) {
      // FAPI-CIBA: also while nobody has decided, so that a client finds out before a person is asked in vain.
      assertBound(shown, client, NOTHING_MORE, () => doors.all('senderConstraint'))
      const request = await requests.findByAuthReqId(auth_req_id)
      if (request === null || !isOfClient(request.approval.client, request.askedAt, client))
        throw new OAuthError('invalid_grant', 'the auth_req_id is not known, or was used before')
      const { decision, id } = request
      if (decision === undefined) return refusePending(request)
      if ('denied' in decision)
        throw new OAuthError('access_denied', 'the person denied the request', { status: 400 })
      const granted = grantedFromJson(decision.granted)
      await assertSignedIn(oauth, granted)
      const { resources, refreshable = true } = granted
      return {
        ...granted,
        ...(resource === undefined ? {} : { resources: resource, approvedResources: resources }),
        refreshable,
        spends: [{ kind: REQUEST, handle: id }],
      }
    },
  })
}
