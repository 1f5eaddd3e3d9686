/** The grant by which a device polls for its tokens (RFC 8628 §3.4, §3.5). */
import { grantedFromJson } from '../../../../src/doors/stored-facts.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { Repeatable } from '../../../../src/protocol/parameters.ts'
import { Type } from '../../../../src/protocol/schema.ts'
import { DEVICE_CODE } from '../../../../src/services/clients/client-kinds.ts'
import { isOfClient } from '../../../../src/services/clients/same-client.ts'
import type { OAuth } from '../../../oauth.ts'
import { assertSignedIn } from '../signed-in-still.ts'
import { DEVICE, type DeviceRequests, type Found } from './requests.ts'

export function addGrant(oauth: OAuth, requests: DeviceRequests): void {
  async function refusePending({ id, request }: Found): Promise<never> {
    if (request.expiresAt <= Date.now())
      throw new OAuthError('expired_token', 'nobody has entered the code in time')
    if (await requests.poll(id))
      throw new OAuthError('authorization_pending', 'nobody has decided yet; ask again')
    throw new OAuthError('slow_down', 'ask 5 seconds later from now on')
  }

  oauth.registerGrant({
    type: DEVICE_CODE,
    publicClients: true,
    // A `scope` is not read here: some clients repeat it.
    parameters: Type.Object({ device_code: Type.String(), resource: Type.Optional(Repeatable()) }),
    async authorize({ device_code, resource }, { client }) {
      const found = await requests.findByDeviceCode(device_code)
      if (found === null || !isOfClient(found.request.approval.client, found.request.askedAt, client))
        throw new OAuthError('invalid_grant', 'the device_code is not known, or was used before')
      const { decision } = found.request
      if (decision === undefined) return refusePending(found)
      if ('denied' in decision)
        throw new OAuthError('access_denied', 'the user denied the request', { status: 400 })
      const granted = grantedFromJson(decision.granted)
      await assertSignedIn(oauth, granted)
      const { resources, refreshable = true } = granted
      return {
        ...granted,
        ...(resource === undefined ? {} : { resources: resource, approvedResources: resources }),
        refreshable,
        spends: [{ kind: DEVICE, handle: found.id }],
      }
    },
  })
}
