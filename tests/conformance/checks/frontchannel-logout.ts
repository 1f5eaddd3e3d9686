/** The frame by which a browser tells an app that its user has signed out (OpenID Connect Front-Channel Logout 1.0). */
import { expect } from 'vitest'
import type { Checks } from '../plan.ts'
import { authenticate } from '../relying-party.ts'
import { CALLBACK, FIRST, LOGGED_OUT } from '../suite.ts'
import { discover } from './discovery.ts'
import { isSignedIn, leave } from './logout.ts'

export const frontChannelLogout = {
  'oidcc-frontchannel-logout-discovery-endpoint-verification': async ({ server }) => {
    expect(await discover(server)).toMatchObject({
      frontchannel_logout_supported: true,
      frontchannel_logout_session_supported: true,
      end_session_endpoint: `${server.url}/end-session`,
    })
  },

  'oidcc-frontchannel-rp-initiated-logout': async (suite) => {
    const { server, metadata } = suite
    const address = CALLBACK.replace(/callback$/, 'frontchannel_logout')
    const client = {
      ...FIRST,
      client_id: 'certified-frontchannel',
      frontchannel_logout_uri: address,
      frontchannel_logout_session_required: true,
    }
    await server.server.oauth.clients.create(client)
    const signedIn = await authenticate(suite, {}, { client })
    const page = await leave(suite, signedIn, { state: 'a-state' })
    const frames = [...page.body.matchAll(/<iframe src="([^"]*)"/g)].map(([, uri]) =>
      uri!.replaceAll('&amp;', '&'),
    )
    const query = { iss: metadata.issuer, sid: signedIn.claims.sid }
    expect(frames).toEqual([`${address}?${new URLSearchParams(query).toString()}`])
    const policy = page.headers.get('content-security-policy')!.split('; ')
    expect(policy).toContain(`frame-src ${new URL(address).origin}`)
    expect(await isSignedIn(suite, signedIn)).toBe(false)
    // As the script of the page goes on.
    const [, next = ''] = /id="go-on" href="([^"]*)"/.exec(page.body) ?? []
    const back = await signedIn.agent.get(new URL(next.replaceAll('&amp;', '&'), server.url))
    expect([back.status, back.headers.get('location')]).toEqual([303, `${LOGGED_OUT}?state=a-state`])
  },
} satisfies Checks
