/** The grant by which a client gets the tokens of a request that somebody approved (CIBA §10.1, §11). */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { Repeatable } from '../../../../src/protocol/parameters.ts'
import { Type } from '../../../../src/protocol/schema.ts'
import { CIBA } from '../../../../src/services/clients/client-kinds.ts'
import { isOfClient } from '../../../../src/services/clients/same-client.ts'
import { assertBound } from '../../../../src/services/tokens/demanded-bindings.ts'
import { grantedOf } from '../decision.ts'
import { narrowed } from '../narrowed.ts'
import { REQUEST, type BackchannelRequests } from './requests.ts'

const NOTHING_MORE = { bound: new Set<string>() }

export function addGrant(fastify: FastifyInstance, requests: BackchannelRequests): void {
  const { oauth } = fastify
  const { doors, owedApprovals } = kernelOf(fastify)

  oauth.registerGrant({
    type: CIBA,
    parameters: Type.Object({ auth_req_id: Type.String(), resource: Type.Optional(Repeatable()) }),
    async authorize({ auth_req_id, resource }, { client, ...shown }) {
      // FAPI-CIBA: also while nobody has decided, so that a client finds out before a person is asked in vain.
      assertBound(shown, client, NOTHING_MORE, () => doors.all('senderConstraint'))
      const { id, request } = await requests.findByAuthReqId(auth_req_id)
      const asked = { kind: REQUEST, handle: id }
      const owed = request === null ? await owedApprovals.find(asked, client) : null
      if (owed !== null) return narrowed(owed, resource)
      if (request === null || !isOfClient(request.approval.client, request.askedAt, client))
        throw new OAuthError('invalid_grant', 'the auth_req_id is not known, or was used before')
      return grantedOf(oauth, request, {
        resource,
        spend: owedApprovals.spend(asked),
        poll: async () => requests.poll(id),
      })
    },
  })
}
