/** A second Latchkey as an upstream of the first, and people whose browser goes back and forth between them. */
import { startServer, type TestServer, type TestServerOptions } from './server.ts'
import { freePort, type Settings } from './settings.ts'
import { ALICE, authorizationUrl, goThrough, SEED } from './sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from './user-agent.ts'

const SECRET = `lks_${'u'.repeat(43)}`

/** As it is registered at the server that people sign in to. */
export interface Registered extends Record<string, unknown> {
  id: string
  issuer: string
}

export interface Upstream extends Registered {
  server: TestServer
}

/** A Latchkey at which `users` have accounts; its client is the server whose callback is at `url`. */
export async function startUpstream(
  id: string,
  url: string,
  users: readonly object[] = [ALICE],
  members: object = {},
): Promise<Upstream> {
  const port = await freePort()
  // Another host than the server's: cookies know no ports.
  const host = new URL(url).hostname === 'localhost' ? '127.0.0.1' : 'localhost'
  const issuer = `http://${host}:${port}`
  const client = {
    client_id: `us-${id}`,
    client_secret: SECRET,
    redirect_uris: [`${url}/upstream/${id}/callback`],
    scope: ['openid'],
  }
  const server = await startServer(
    { PORT: port, OIDC_ISSUER: issuer },
    { seed: { users, clients: [client] } },
  )
  const registered = {
    id,
    issuer,
    client_id: client.client_id,
    client_secret: SECRET,
    name: id.toUpperCase(),
  }
  return { ...registered, ...members, server }
}

/** The members of SEED_FILE. */
export function seedOf({ server: _server, ...registered }: Upstream): Registered {
  return registered
}

/** A server whose issuer is known before its upstreams are there. */
export async function startBelow(
  make: (url: string) => Promise<readonly Upstream[]>,
  settings: Settings = {},
  { seed = SEED, ...options }: TestServerOptions & { seed?: object } = {},
): Promise<{ server: TestServer; upstreams: readonly Upstream[] }> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const upstreams = await make(url)
  const server = await startServer(
    {
      PORT: port,
      UNSAFE_OUTBOUND_ORIGINS: upstreams.map(({ issuer }) => new URL(issuer).origin).join(','),
      ...settings,
    },
    { ...options, seed: { ...seed, upstreams: upstreams.map(seedOf) } },
  )
  return { server, upstreams }
}

/** A browser that has cookies of several servers. */
export interface Traveller {
  readonly here: UserAgent
  readonly there: UserAgent
}

export function traveller(server: TestServer, { issuer }: Upstream): Traveller {
  return { here: createUserAgent(server.url), there: createUserAgent(issuer) }
}

/** From the sign-in page to the upstream's answer, as an address of the server that nobody has opened yet. */
export async function answerFrom(
  { here, there }: Traveller,
  page: Page,
  id: string,
  user: Pick<typeof ALICE, 'username' | 'password'> = ALICE,
): Promise<string> {
  const left = await here.submit(page, 'upstreams', { upstream: id })
  return answerAt({ here, there }, left, user)
}

/** The same of a page that leads there. */
export async function answerAt(
  { there }: Traveller,
  left: Page,
  user: Pick<typeof ALICE, 'username' | 'password'> = ALICE,
): Promise<string> {
  const to = left.headers.get('location')
  if (to === null) throw new Error(`it does not lead to the upstream: ${left.status} ${left.body}`)
  const back = await goThrough(there, await there.get(to), user)
  const location = back.headers.get('location')
  if (location === null) throw new Error(`it does not lead back: ${back.status} ${back.body}`)
  return location
}

/** Signs in at the server by the upstream, from an app's request; what is next there. */
export async function signInBy(
  server: TestServer,
  upstream: Upstream,
  user?: Pick<typeof ALICE, 'username' | 'password'>,
  who: Traveller = traveller(server, upstream),
  parameters: Record<string, string> = {},
): Promise<Page> {
  const page = await who.here.get(authorizationUrl(server, parameters))
  return who.here.get(await answerFrom(who, page, upstream.id, user))
}

/** Allows what is asked for, where something is. */
export async function allow(agent: UserAgent, page: Page): Promise<Page> {
  return findForm(page, 'consent') === undefined ? page : agent.submit(page, 'consent', { decision: 'allow' })
}
