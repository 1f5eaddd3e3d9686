/**
 * OpenID Connect Session Management 1.0: a frame of ours in the page of an app tells it whether the browser is still signed in as it was when
 * the app got its answer, by a cookie that the script of the frame reads. With `OIDC_SESSION_MANAGEMENT=false` nothing of it is here.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { createHash, createHmac, type KeyObject, randomBytes } from 'node:crypto'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { refuseOtherMethods, withSlash } from '../../src/http/methods.ts'

const PATH = '/check-session'
const SCRIPT = 'check-session.js'
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-cache',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  // Any app has it in its page: it shows nothing and takes no click.
  'cross-origin-resource-policy': 'cross-origin',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'",
}

async function sessionManagement(fastify: FastifyInstance): Promise<void> {
  const { oauth, browser, pages } = fastify
  if (!kernelOf(fastify).config.OIDC_SESSION_MANAGEMENT) return
  const state = browser.cookie('browser-state', { readable: true })
  let key: KeyObject
  fastify.addHook('onReady', async () => {
    key = await oauth.secret('browser-states')
  })

  /** Of a browser that is signed in by this session (§4.2). */
  const stateOf = (sid: string): string => createHmac('sha256', key).update(sid).digest('base64url')

  browser.follow((call, session) =>
    state.set(call, session === null ? randomBytes(32).toString('base64url') : stateOf(session.sid)),
  )

  oauth.extend('authorizationResponse', ['session_state'], async ({ request, granted }, _answer, call) => {
    const { client, redirectUri } = request
    const sid = granted?.authentication?.sid
    const origin = URL.parse(redirectUri)?.origin ?? 'null'
    // An app of a scheme of its own has no page for a frame.
    if (sid === undefined || origin === 'null' || !granted!.scopes.has('openid')) return {}
    const now = stateOf(sid)
    if (state.read(call.request) !== now) state.set(call, now)
    const salt = randomBytes(16).toString('base64url')
    const hash = createHash('sha256').update([client.clientId, origin, now, salt].join(' '))
    return { session_state: `${hash.digest('base64url')}.${salt}` }
  })

  const script = await pages.addAsset(SCRIPT, new URL(`../../templates/assets/${SCRIPT}`, import.meta.url))
  const html = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Session</title></head>
<body><script src="${script}" data-cookie="${state.name}"></script></body>
</html>
`
  for (const url of withSlash(fastify, PATH)) {
    fastify.get(url, async (_request, reply) => reply.headers(HEADERS).send(html))
    refuseOtherMethods(fastify, url, ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], 'GET, HEAD')
  }
  oauth.extend('metadata', async () => ({ check_session_iframe: oauth.issuer + PATH }))
}

export default fp(sessionManagement, {
  name: 'latchkey-session-management',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-pages', 'latchkey-authorize'],
  encapsulate: true,
})
