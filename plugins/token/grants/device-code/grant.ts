/** The grant by which a device polls for its tokens (RFC 8628 §3.4, §3.5). */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { Repeatable } from '../../../../src/protocol/parameters.ts'
import { Type } from '../../../../src/protocol/schema.ts'
import { DEVICE_CODE } from '../../../../src/services/clients/client-kinds.ts'
import { isOfClient } from '../../../../src/services/clients/same-client.ts'
import { grantedOf } from '../decision.ts'
import { narrowed } from '../narrowed.ts'
import { DEVICE, type DeviceRequests } from './requests.ts'

export function addGrant(fastify: FastifyInstance, requests: DeviceRequests): void {
  const { oauth } = fastify
  const { owedApprovals } = kernelOf(fastify)

  oauth.registerGrant({
    type: DEVICE_CODE,
    publicClients: true,
    // A `scope` is not read here: some clients repeat it.
    parameters: Type.Object({ device_code: Type.String(), resource: Type.Optional(Repeatable()) }),
    async authorize({ device_code, resource }, { client }) {
      const { id, request } = await requests.findByDeviceCode(device_code)
      const asked = { kind: DEVICE, handle: id }
      const owed = request === null ? await owedApprovals.find(asked, client) : null
      if (owed !== null) return narrowed(owed, resource)
      if (request === null || !isOfClient(request.approval.client, request.askedAt, client))
        throw new OAuthError('invalid_grant', 'the device_code is not known, or was used before')
      return grantedOf(oauth, request, {
        resource,
        spend: owedApprovals.spend(asked),
        poll: async () => requests.poll(id),
      })
    },
  })
}
