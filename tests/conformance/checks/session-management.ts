/** What an app's frame is told of the browser (OpenID Connect Session Management 1.0), as the script of the frame computes it. */
import { createHash } from 'node:crypto'
import * as oauth from 'oauth4webapi'
import { expect } from 'vitest'
import { createUserAgent } from '../../support/user-agent.ts'
import type { Checks } from '../plan.ts'
import { answerIn, authenticationRequest, presentCode, tokensIn, visit } from '../relying-party.ts'
import { CALLBACK, FIRST } from '../suite.ts'
import { discover, expectAddresses } from './discovery.ts'
import { isSignedIn, leave } from './logout.ts'

/** `unchanged` or `changed`, by the cookie that the frame reads (§3.2, §4.2). */
function answerOf(cookies: ReadonlyMap<string, string>, sessionState: string): string {
  const [, salt] = sessionState.split('.')
  const cookie = cookies.get('latchkey-browser-state')!
  const text = [FIRST.client_id, new URL(CALLBACK).origin, cookie, salt].join(' ')
  const hash = createHash('sha256').update(text).digest('base64url')
  return sessionState === `${hash}.${salt}` ? 'unchanged' : 'changed'
}

export const sessionManagement = {
  'oidcc-session-management-discovery-endpoint-verification': async ({ server }) => {
    const document = await discover(server)
    expect(document).toMatchObject({
      check_session_iframe: `${server.url}/check-session`,
      end_session_endpoint: `${server.url}/end-session`,
    })
    expectAddresses(document, server.url)
    const frame = await server.get('/check-session')
    expect([frame.status, frame.headers.get('x-frame-options')]).toEqual([200, null])
  },

  'oidcc-session-management-rp-initiated-logout': async (suite) => {
    const agent = createUserAgent(suite.server.url)
    const request = authenticationRequest(suite)
    const answer = answerIn(suite, await visit(suite, request, { agent }))
    const sessionState = answer.get('session_state')!
    expect(sessionState).toMatch(/^[^ .]+\.[^ .]+$/)
    expect(answerOf(agent.cookies, sessionState)).toBe('unchanged')
    const callback = oauth.validateAuthResponse(suite.metadata, FIRST, answer, request['state'])
    const response = await presentCode(suite, callback)
    const signedIn = { agent, request, callback, ...(await tokensIn(suite, response, request)) }
    expect((await leave(suite, signedIn)).status).toBe(303)
    expect(answerOf(agent.cookies, sessionState)).toBe('changed')
    expect(await isSignedIn(suite, signedIn)).toBe(false)
  },
} satisfies Checks
