/**
 * A GitHub Enterprise Server, as the documentation of GitHub says that it answers: its web application flow with PKCE, its errors with the
 * status 200, its answers as a form unless JSON is asked for, and a REST API that wants a User-Agent. Whoever is named on its page is there.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { type Received, startReceiver } from './receiver.ts'
import { freePort } from './settings.ts'
import { createUserAgent, type Page } from './user-agent.ts'

export interface GitHubUser {
  readonly id: number
  readonly login: string
  readonly name?: string | null
  readonly emails?: readonly { email: string; primary: boolean; verified: boolean }[]
}

/** Laid over what it would answer honestly. */
export interface GitHubLie {
  /** Of the redirect back. */
  readonly answer?: Record<string, string>
  readonly token?: readonly [number, unknown]
  /** Of the token endpoint, as a form whatever is asked for: laid over its members, null for none. */
  readonly form?: Readonly<Record<string, string | null>>
  readonly user?: readonly [number, unknown]
  readonly emails?: readonly [number, unknown]
}

export interface GitHub {
  readonly origin: string
  readonly issuer: string
  readonly received: readonly Received[]
  readonly client: { readonly client_id: string; readonly client_secret: string }
  lie(lie: GitHubLie): void
  /** On its page, at which a browser came by `left`: signs in as `login`, or cancels for `''`; where that leads, which nobody has opened yet. */
  agree(left: Page | string, login: string): Promise<string>
}

interface Code {
  readonly user: GitHubUser
  readonly redirectUri: string
  readonly challenge: string | null
  readonly scope: string
}

const AGENT_WANTED =
  'Request forbidden by administrative rules. Please make sure your request has a User-Agent header.'
const DOCS = '/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors/'

/** At localhost, unless `host` says another; `callbacks` are the addresses that are registered for its one app. */
export async function startGitHub(
  users: readonly GitHubUser[],
  callbacks: readonly string[],
  { host = 'localhost', port }: { host?: string; port?: number } = {},
): Promise<GitHub> {
  const at = port ?? (await freePort())
  const origin = `http://${host}:${at}`
  const client = { client_id: 'Iv1.8a61f9b3a7aba766', client_secret: 'what GitHub gave us, 100% of it' }
  const [codes, tokens] = [new Map<string, Code>(), new Map<string, Code>()]
  let lie: GitHubLie = {}

  /** The page for who wants to be signed in elsewhere. */
  function authorize({ searchParams: asked }: URL, response: ServerResponse): void {
    if (asked.get('client_id') !== client.client_id) return void response.writeHead(404).end('Not Found')
    const back = asked.get('redirect_uri') ?? callbacks[0]!
    if (!callbacks.includes(back)) {
      const error = { error: 'redirect_uri_mismatch', state: asked.get('state') ?? '' }
      return leadTo(callbacks[0]!, error, response)
    }
    const challenge = asked.get('code_challenge')
    if (challenge !== null && (challenge.length !== 43 || asked.get('code_challenge_method') !== 'S256'))
      return void response.writeHead(400).end('code_challenge')
    const hidden = [...asked].map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`).join('')
    const buttons = users.map(({ login }) => `<button name="login" value="${login}">Authorize as ${login}</button>`).join('')
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(`<!doctype html><title>Authorize</title><form id="authorize" method="post" action="/login/oauth/authorize">${hidden}${buttons}<button name="login" value="">Cancel</button></form>`)
  } // prettier-ignore

  function decide(asked: URLSearchParams, response: ServerResponse): void {
    const [back, state] = [asked.get('redirect_uri') ?? callbacks[0]!, asked.get('state') ?? '']
    const user = users.find(({ login }) => login === asked.get('login'))
    if (user === undefined)
      return leadTo(
        back,
        {
          error: 'access_denied',
          error_description: 'The user has denied your application access.',
          error_uri: `${DOCS}#access-denied`,
          state,
        },
        response,
      )
    const code = randomBytes(10).toString('hex')
    const scope = (asked.get('scope') ?? '').split(' ').join(',')
    codes.set(code, { user, redirectUri: back, challenge: asked.get('code_challenge'), scope })
    leadTo(back, { code, state, ...lie.answer }, response)
  }

  function exchange(body: URLSearchParams): Record<string, string> {
    const wrong = (error: string, error_description: string): Record<string, string> => ({
      error,
      error_description,
      error_uri: `${DOCS}#${error}`,
    })
    if (body.get('client_id') !== client.client_id || body.get('client_secret') !== client.client_secret)
      return wrong('incorrect_client_credentials', 'The client_id and/or client_secret passed are incorrect.')
    const code = codes.get(body.get('code') ?? '')
    codes.delete(body.get('code') ?? '')
    const verifier = body.get('code_verifier')
    const shown = verifier === null ? null : createHash('sha256').update(verifier).digest('base64url')
    if (code === undefined || code.challenge !== shown)
      return wrong('bad_verification_code', 'The code passed is incorrect or expired.')
    if (code.redirectUri !== body.get('redirect_uri'))
      return wrong(
        'redirect_uri_mismatch',
        'The redirect_uri MUST match the registered callback URL for this application.',
      )
    const token = `gho_${randomBytes(18).toString('hex')}`
    tokens.set(token, code)
    return { access_token: token, scope: code.scope, token_type: 'bearer' }
  }

  /** Whose token is shown; null where it was answered that it is none. */
  function holder({ headers }: Received, response: ServerResponse): Code | null {
    if ((headers['user-agent'] ?? '') === '') {
      response.writeHead(403).end(AGENT_WANTED)
      return null
    }
    const found = tokens.get(/^(?:Bearer|token) (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? '')
    if (found === undefined) send(response, [401, { message: 'Bad credentials', status: '401' }])
    return found ?? null
  }

  const receiver = await startReceiver(
    (request, response) => {
      const url = new URL(request.url, origin)
      const asks = `${request.method} ${url.pathname}`
      if (asks === 'GET /login/oauth/authorize') return authorize(url, response)
      if (asks === 'POST /login/oauth/authorize') return decide(new URLSearchParams(request.body), response)
      if (asks === 'POST /login/oauth/access_token') {
        if (lie.token !== undefined) return send(response, lie.token)
        const answer = exchange(new URLSearchParams(request.body))
        if (lie.form !== undefined) {
          const said = Object.entries({ ...answer, ...lie.form }).filter(([, value]) => value !== null)
          return response
            .writeHead(200, { 'content-type': 'Application/x-www-form-urlencoded' })
            .end(new URLSearchParams(said as [string, string][]).toString())
        }
        if (request.headers.accept?.includes('application/json') === true)
          return send(response, [200, answer])
        return response
          .writeHead(200, { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' })
          .end(new URLSearchParams(answer).toString())
      }
      if (asks === 'GET /api/v3/user') {
        const found = holder(request, response)
        return found === null ? undefined : send(response, lie.user ?? [200, shown(origin, found.user)])
      }
      if (asks === 'GET /api/v3/user/emails') {
        const found = holder(request, response)
        if (found === null) return undefined
        const may = found.scope.split(',').some((one) => one === 'user:email' || one === 'user')
        const most = Math.min(Number(url.searchParams.get('per_page') ?? 30), 100)
        const all = (found.user.emails ?? []).slice(0, most).map((one) => ({ ...one, visibility: null }))
        return send(
          response,
          lie.emails ?? (may ? [200, all] : [404, { message: 'Not Found', status: '404' }]),
        )
      }
      return send(response, [404, { message: 'Not Found', status: '404' }])
    },
    { port: at, host },
  )

  return {
    origin,
    issuer: `${origin}/login/oauth`,
    received: receiver.received,
    client,
    lie: (next) => void (lie = next),
    async agree(left, login) {
      const to = typeof left === 'string' ? left : left.headers.get('location')
      if (to === null) throw new Error('it leads nowhere')
      const there = createUserAgent(origin)
      const back = await there.submit(await there.get(to), 'authorize', { login })
      return back.headers.get('location')!
    },
  }
}

function leadTo(address: string, query: Record<string, string>, response: ServerResponse): void {
  response.writeHead(302, { location: `${address}?${new URLSearchParams(query).toString()}` }).end()
}

function send(response: ServerResponse, [status, body]: readonly [number, unknown]): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
}

/** Some of the members that its documentation shows. */
function shown(origin: string, { id, login, name = null }: GitHubUser): object {
  return {
    login,
    id,
    node_id: 'MDQ6VXNlcjE=',
    avatar_url: `${origin}/images/error/${login}_happy.gif`,
    gravatar_id: '',
    url: `${origin}/api/v3/users/${login}`,
    html_url: `${origin}/${login}`,
    type: 'User',
    site_admin: false,
    name,
    company: 'GitHub',
    blog: 'github.com/blog',
    location: 'San Francisco',
    // That which they show to everybody, verified or not.
    email: 'public@elsewhere.example',
    hireable: null,
    bio: 'There once was...',
    public_repos: 2,
    created_at: '2008-01-14T04:33:35Z',
    updated_at: '2008-01-14T04:33:35Z',
  }
}
