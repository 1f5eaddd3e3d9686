/** The logout token that an app is sent when its user signs out (OpenID Connect Back-Channel Logout 1.0). */
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { expect } from 'vitest'
import type { Checks } from '../plan.ts'
import { authenticate } from '../relying-party.ts'
import { FIRST } from '../suite.ts'
import { discover } from './discovery.ts'
import { isSignedIn, leave } from './logout.ts'

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

export const backChannelLogout = {
  'oidcc-backchannel-logout-discovery-endpoint-verification': async ({ server }) => {
    const document = await discover(server)
    expect(document).toMatchObject({
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
      end_session_endpoint: `${server.url}/end-session`,
    })
    expect(document['claims_supported']).toContain('sid')
  },

  'oidcc-backchannel-rp-initiated-logout': async (suite) => {
    const { server, host, metadata } = suite
    const address = `http://127.0.0.1:${host.port}/backchannel_logout`
    const client = {
      ...FIRST,
      client_id: 'certified-backchannel',
      backchannel_logout_uri: address,
      backchannel_logout_session_required: true,
    }
    await server.server.oauth.clients.create(client)
    const signedIn = await authenticate(suite, {}, { client })
    const page = await leave(suite, signedIn)
    expect(page.status).toBe(303)
    await expect.poll(() => host.received).toHaveLength(1)
    const [{ method, url, headers, body }] = host.received as [(typeof host.received)[number]]
    expect([method, url]).toEqual(['POST', '/backchannel_logout'])
    expect(headers['content-type']).toMatch(/^application\/x-www-form-urlencoded/)
    const sent = new URLSearchParams(body)
    expect([...sent.keys()]).toEqual(['logout_token'])
    const { payload, protectedHeader } = await jwtVerify(
      sent.get('logout_token')!,
      createRemoteJWKSet(new URL(metadata.jwks_uri!)),
      { issuer: metadata.issuer, audience: client.client_id, typ: 'logout+jwt', algorithms: ['RS256'] },
    )
    expect(protectedHeader.kid).toEqual(expect.any(String))
    expect(payload).toMatchObject({
      jti: expect.any(String) as string,
      iat: expect.any(Number) as number,
      sub: signedIn.claims.sub,
      sid: signedIn.claims.sid,
    })
    expect(Math.abs(payload.iat! - Date.now() / 1000)).toBeLessThan(120)
    expect(payload['events']).toEqual({ [EVENT]: {} })
    expect(payload).not.toHaveProperty('nonce')
    expect(await isSignedIn(suite, signedIn)).toBe(false)
  },
} satisfies Checks
