/** The device authorization endpoint (RFC 8628 §3.1, §3.2): a device asks, and gets two codes. */
import type { OAuth } from '../../../oauth/index.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { Type } from '../../../../src/protocol/schema.ts'
import { DEVICE_CODE } from '../../../../src/services/clients/client-kinds.ts'
import { INTERVAL } from '../polls.ts'
import { LIFETIME, type DeviceRequests } from './requests.ts'
import { displayUserCode } from './user-code.ts'

export function addEndpoint(oauth: OAuth, requests: DeviceRequests): void {
  const verificationUri = `${oauth.issuer}/device`

  oauth.registerEndpoint({
    path: '/device_authorization',
    metadata: 'device_authorization_endpoint',
    publicClients: true,
    cors: true,
    // What may be asked for is for the server's own rules: scope, resource, and what plugins add.
    parameters: Type.Object({}),
    async handle(_parameters, call) {
      const { client, request, wire } = call
      if (!client.grantTypes.has(DEVICE_CODE))
        throw new OAuthError('unauthorized_client', 'the client is not registered for this grant')
      const shown = await oauth.parametersShownBy(call)
      const approval = await oauth.parseApproval(client, { ...wire, ...shown })
      const { deviceCode, userCode } = await requests.create(approval, request.ip)
      const code = displayUserCode(userCode)
      return {
        device_code: deviceCode,
        user_code: code,
        verification_uri: verificationUri,
        verification_uri_complete: `${verificationUri}?user_code=${code}`,
        expires_in: LIFETIME,
        interval: INTERVAL,
      }
    },
  })
}
