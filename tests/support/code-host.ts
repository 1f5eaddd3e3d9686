/** A code host as GitHub is one: OAuth 2.0 with PKCE, a page of its own, and an address that says who somebody is; no OpenID Connect. */
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { atEndOfFile } from './cleanup.ts'

export interface CodeHost {
  /** At localhost. */
  readonly origin: string
  /** Where the browser of `login` is sent, who agrees at `address`, which our server led to. */
  agree(address: string, login: string): Promise<string>
  /** Tokens that it gave out. */
  given(): number
}

/** Its people, by their names there, and their numbers. */
export async function startCodeHost(people: Readonly<Record<string, number>>, secret: string): Promise<CodeHost> {
  const codes = new Map<string, { login: string; challenge: string }>()
  const tokens = new Map<string, string>()
  let given = 0

  const page = (asked: URLSearchParams): string => {
    const kept = ['redirect_uri', 'state', 'code_challenge'].map(
      (name) => `<input type="hidden" name="${name}" value="${asked.get(name) ?? ''}">`,
    )
    const buttons = [...Object.keys(people), ''].map((login) => `<button name="login" value="${login}">As ${login}</button>`)
    return `<!doctype html><title>Code host</title><form action="/agree">${kept.join('')}${buttons.join('')}</form>`
  }

  function agree(asked: URLSearchParams): string {
    const login = asked.get('login') ?? ''
    const code = randomUUID()
    codes.set(code, { login, challenge: asked.get('code_challenge') ?? '' })
    const answer = login === '' ? { error: 'access_denied' } : { code }
    return `${asked.get('redirect_uri') ?? ''}?${new URLSearchParams({ ...answer, state: asked.get('state') ?? '' }).toString()}`
  }

  async function exchange(request: IncomingMessage): Promise<object> {
    const form = new URLSearchParams(await text(request))
    const found = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const challenge = createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url')
    if (found === undefined || found.challenge !== challenge || form.get('client_secret') !== secret)
      return { error: 'bad_verification_code' }
    const token = randomUUID()
    tokens.set(token, found.login)
    given++
    return { access_token: token, token_type: 'bearer' }
  }

  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
    const tell = (told: object): void => void response.setHeader('content-type', 'application/json').end(JSON.stringify(told))
    if (pathname === '/login/oauth/authorize') return void response.setHeader('content-type', 'text/html').end(page(searchParams))
    if (pathname === '/agree') return void response.writeHead(302, { location: agree(searchParams) }).end()
    if (pathname === '/login/oauth/access_token') return void exchange(request).then(tell)
    const login = tokens.get((request.headers.authorization ?? '').replace('Bearer ', '')) ?? ''
    return tell(login in people ? { id: people[login], login } : { message: 'Bad credentials' })
  })
  server.listen(0, 'localhost')
  await once(server, 'listening')
  atEndOfFile(async () => {
    server.closeAllConnections()
    server.close()
  })
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    given: () => given,
    async agree(address, login) {
      const asked = new URL(address).searchParams
      asked.set('login', login)
      return agree(asked)
    },
  }
} // prettier-ignore
