/** The device authorization endpoint (RFC 8628 §3.1, §3.2): a device asks, and gets two codes. */
import { OAuthError, Type, type OAuth } from 'latchkey'
import { GRANT_TYPE } from './grant.ts'
import { INTERVAL, LIFETIME, type DeviceRequests } from './requests.ts'
import { displayUserCode } from './user-code.ts'

export function addEndpoint(oauth: OAuth, requests: DeviceRequests): void {
  const verificationUri = `${oauth.issuer}/device`

  oauth.registerEndpoint({
    path: '/device_authorization',
    metadata: 'device_authorization_endpoint',
    publicClients: true,
    // What may be asked for is for the server's own rules: scope, resource, and what plugins add.
    parameters: Type.Object({}),
    async handle(_parameters, { client, request, wire }) {
      if (!client.grantTypes.has(GRANT_TYPE))
        throw new OAuthError('unauthorized_client', 'the client is not registered for this grant')
      const approval = await oauth.parseApproval(client, wire)
      const { deviceCode, userCode } = await requests.create(approval, request.ip)
      const shown = displayUserCode(userCode)
      return {
        device_code: deviceCode,
        user_code: shown,
        verification_uri: verificationUri,
        verification_uri_complete: `${verificationUri}?user_code=${shown}`,
        expires_in: LIFETIME,
        interval: INTERVAL,
      }
    },
  })
}
