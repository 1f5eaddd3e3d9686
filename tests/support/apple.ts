/**
 * Apple as its documentation says that it answers: a client secret that is a JWT of the team's key, names and addresses by a form alone (a POST from
 * another site), and what somebody is called the first time and never again.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { decodeProtectedHeader, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose'
import { type Received, startReceiver } from './receiver.ts'
import { freePort } from './settings.ts'
import { createUserAgent, findForm, type Page } from './user-agent.ts'

export interface AppleUser {
  readonly sub: string
  readonly email: string
  readonly firstName: string
  readonly lastName: string
}

export interface Apple {
  readonly issuer: string
  readonly received: readonly Received[]
  /** As it is registered here. */
  readonly registered: {
    readonly kind: 'apple'
    readonly issuer: string
    readonly client_id: string
    readonly client_secret: string
    readonly team_id: string
    readonly key_id: string
  }
  /** Client secrets that were shown, decoded. */
  readonly secrets: readonly Record<string, unknown>[]
  /** On its page, at which a browser came by `left`: signs in as `sub`, or cancels for `''`; the form that is sent to us then. */
  agree(left: Page, sub: string): Promise<{ action: string; fields: Record<string, string> }>
}

interface Code {
  readonly user: AppleUser
  readonly redirectUri: string
  readonly nonce: string | null
}

const SIX_MONTHS = 15_777_000

/** At localhost; `callback` is the one return URL of its one Services ID. */
export async function startApple(users: readonly AppleUser[], callback: string): Promise<Apple> {
  const port = await freePort()
  const issuer = `http://localhost:${port}`
  const [client_id, team_id, key_id] = ['com.example.services', 'TEAM012345', 'KEY0123456']
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const own = await generateKeyPair('RS256')
  const jwk = { ...(await exportJWK(own.publicKey)), alg: 'RS256', use: 'sig', kid: 'fh6Bs8C' }
  const codes = new Map<string, Code>()
  const seen = new Set<string>()
  const secrets: Record<string, unknown>[] = []

  function authorize({ searchParams: asked }: URL, response: ServerResponse): void {
    const scope = (asked.get('scope') ?? '').split(' ')
    const wrong = (text: string): void => void response.writeHead(400).end(text)
    if (asked.get('client_id') !== client_id || asked.get('redirect_uri') !== callback)
      return wrong('invalid_client')
    if ((scope.includes('name') || scope.includes('email')) && asked.get('response_mode') !== 'form_post')
      return wrong('response_mode must be form_post when name or email scope is requested.')
    const hidden = [...asked].map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`)
    const buttons = users.map(({ sub }) => `<button name="sub" value="${sub}">Continue as ${sub}</button>`)
    sendHtml(
      response,
      `<form id="apple" method="post" action="/auth/decide">${hidden.join('')}${buttons.join('')}<button name="sub" value="">Cancel</button></form>`,
    )
  }

  /** The page that sends itself to the app. */
  function decide(asked: URLSearchParams, response: ServerResponse): void {
    const user = users.find(({ sub }) => sub === asked.get('sub'))
    const answer: Record<string, string> = { state: asked.get('state') ?? '' }
    if (user === undefined) answer['error'] = 'user_cancelled_authorize'
    else {
      const code = `c${randomBytes(16).toString('hex')}.0.mrqtu.${randomBytes(8).toString('hex')}`
      codes.set(code, { user, redirectUri: callback, nonce: asked.get('nonce') })
      answer['code'] = code
      const { email, firstName, lastName } = user
      if (!seen.has(user.sub)) answer['user'] = JSON.stringify({ name: { firstName, lastName }, email })
      seen.add(user.sub)
    }
    const inputs = Object.entries(answer).map(
      ([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`,
    )
    sendHtml(
      response,
      `<form id="answer" method="post" action="${callback}">${inputs.join('')}<button>Go on</button></form>`,
    )
  }

  async function token(body: URLSearchParams): Promise<readonly [number, object]> {
    const secret = body.get('client_secret') ?? ''
    try {
      const { payload } = await jwtVerify(secret, pair.publicKey, {
        algorithms: ['ES256'],
        issuer: team_id,
        subject: client_id,
        audience: issuer,
        requiredClaims: ['iat', 'exp'],
      })
      const isTooLong = payload.exp! - Math.floor(Date.now() / 1000) > SIX_MONTHS
      if (isTooLong || decodeProtectedHeader(secret).kid !== key_id || body.get('client_id') !== client_id)
        return [400, { error: 'invalid_client' }]
      secrets.push(payload)
    } catch {
      return [400, { error: 'invalid_client' }]
    }
    const code = codes.get(body.get('code') ?? '')
    codes.delete(body.get('code') ?? '')
    if (code === undefined || code.redirectUri !== body.get('redirect_uri'))
      return [400, { error: 'invalid_grant' }]
    const now = Math.floor(Date.now() / 1000)
    const { sub, email } = code.user
    const claims = { email, email_verified: 'true', is_private_email: 'true', auth_time: now, nonce_supported: true }
    const id_token = await new SignJWT({ ...claims, ...(code.nonce === null ? {} : { nonce: code.nonce }) })
      .setProtectedHeader({ alg: 'RS256', kid: jwk.kid })
      .setIssuer(issuer)
      .setAudience(client_id)
      .setSubject(sub)
      .setIssuedAt(now)
      .setExpirationTime(now + 86_400)
      .sign(own.privateKey)
    return [200, { access_token: 'a.0.x', token_type: 'Bearer', expires_in: 3600, refresh_token: 'r.0.x', id_token }]
  } // prettier-ignore

  async function answer({ method, url: path, body }: Received, response: ServerResponse): Promise<void> {
    const url = new URL(path, issuer)
    const asks = `${method} ${url.pathname}`
    if (asks === 'GET /auth/authorize') return authorize(url, response)
    if (asks === 'POST /auth/decide') return decide(new URLSearchParams(body), response)
    if (asks === 'POST /auth/token') return sendJson(response, ...(await token(new URLSearchParams(body))))
    if (asks === 'GET /auth/keys') return sendJson(response, 200, { keys: [jwk] })
    if (asks === 'GET /.well-known/openid-configuration')
      return sendJson(response, 200, {
        issuer,
        authorization_endpoint: `${issuer}/auth/authorize`,
        token_endpoint: `${issuer}/auth/token`,
        jwks_uri: `${issuer}/auth/keys`,
        response_types_supported: ['code'],
        response_modes_supported: ['query', 'fragment', 'form_post'],
        subject_types_supported: ['pairwise'],
        id_token_signing_alg_values_supported: ['RS256'],
        token_endpoint_auth_methods_supported: ['client_secret_post'],
      })
    return sendJson(response, 404, {})
  }

  const receiver = await startReceiver(answer, { port, host: 'localhost' })
  const client_secret = pair.privateKey.export({ format: 'pem', type: 'pkcs8' })
  return {
    issuer,
    received: receiver.received,
    registered: { kind: 'apple', issuer, client_id, client_secret, team_id, key_id },
    secrets,
    async agree(left, sub) {
      const there = createUserAgent(issuer)
      const page = await there.get(left.headers.get('location')!)
      const { action, fields } = findForm(await there.submit(page, 'apple', { sub }), 'answer')!
      return { action, fields }
    },
  }
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('"', '&quot;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
}

function sendHtml(response: ServerResponse, form: string): void {
  response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><title>Apple</title>${form}`)
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json;charset=UTF-8' }).end(JSON.stringify(body))
}
