/** The grant by which a device polls for its tokens (RFC 8628 §3.4, §3.5). */
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { Repeatable } from '../../../../src/protocol/parameters.ts'
import { Type } from '../../../../src/protocol/schema.ts'
import { DEVICE_CODE } from '../../../../src/services/clients/client-kinds.ts'
import { isOfClient } from '../../../../src/services/clients/same-client.ts'
import type { OAuth } from '../../../oauth.ts'
import { grantedOf } from '../decision.ts'
import { DEVICE, type DeviceRequests } from './requests.ts'

export function addGrant(oauth: OAuth, requests: DeviceRequests): void {
  oauth.registerGrant({
    type: DEVICE_CODE,
    publicClients: true,
    // A `scope` is not read here: some clients repeat it.
    parameters: Type.Object({ device_code: Type.String(), resource: Type.Optional(Repeatable()) }),
    async authorize({ device_code, resource }, { client }) {
      const found = await requests.findByDeviceCode(device_code)
      if (found === null || !isOfClient(found.request.approval.client, found.request.askedAt, client))
        throw new OAuthError('invalid_grant', 'the device_code is not known, or was used before')
      return grantedOf(oauth, found.request, {
        resource,
        spend: { kind: DEVICE, handle: found.id },
        poll: async () => requests.poll(found.id),
      })
    },
  })
}
