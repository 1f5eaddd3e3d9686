/**
 * The other side, in a process of its own: an app that takes logout tokens and verifies them with jose by the rules of OpenID
 * Connect Back-Channel Logout 1.0 §2.6. It prints what it took and what it refused, a line of JSON each.
 *
 * `node app.js ISSUER CLIENT_ID PORT [refuse]`
 */
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { createRemoteJWKSet, jwtVerify } from 'jose'

const [issuer = '', clientId = '', port = '', refuses] = process.argv.slice(2)
const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`))
const seen = new Set<string>()
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

async function verify(token: string): Promise<object> {
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    issuer,
    audience: clientId,
    typ: 'logout+jwt',
    algorithms: ['RS256'],
    requiredClaims: ['iss', 'aud', 'iat', 'exp', 'jti', 'events'],
  })
  const { jti = '', sub, sid, nonce, events } = payload
  if (sub === undefined && sid === undefined) throw new Error('neither sub nor sid')
  if (nonce !== undefined) throw new Error('a nonce, as in an ID token')
  if (typeof events !== 'object' || events === null || !(EVENT in events)) throw new Error('no logout event')
  const again = seen.has(jti)
  seen.add(jti)
  return { sub, sid, jti, again, alg: protectedHeader.alg }
}

createServer((request, response) => {
  void text(request).then(async (body) => {
    const token = new URLSearchParams(body).get('logout_token') ?? ''
    const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded')
    try {
      if (request.method !== 'POST' || !isForm) throw new Error('not a form')
      console.log(JSON.stringify({ path: request.url, ...(await verify(token)) }))
      if (refuses !== 'hang') response.writeHead(200, { 'cache-control': 'no-store' }).end()
    } catch (error) {
      console.log(JSON.stringify({ refused: String(error) }))
      response.writeHead(400).end()
    }
  })
}).listen(Number(port), '127.0.0.1', () => console.log('{"listening":true}'))
