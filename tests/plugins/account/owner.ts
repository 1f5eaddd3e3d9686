/** Users at their own accounts, without eyes. */
import type { TestServer } from '../../support/server.ts'
import { ALICE } from '../../support/sign-in.ts'
import { createUserAgent, type Page, type UserAgent } from '../../support/user-agent.ts'

/** A browser in which the user is signed in. */
export async function signedIn(
  server: TestServer,
  { username, password }: { username: string; password: string } = ALICE,
  headers: Record<string, string> = {},
): Promise<UserAgent> {
  const agent = createUserAgent(server.url, headers)
  const page = await agent.get(`${server.url}/sign-in`)
  const home = await agent.submit(page, 'login', { username, password })
  if (home.status !== 200) throw new Error(`not signed in: ${home.status} ${home.body}`)
  return agent
}

/** A page of the account. */
export async function open(server: TestServer, agent: UserAgent, path = ''): Promise<Page> {
  return agent.get(`${server.url}/account${path}`)
}

/** As if every session had begun so many seconds before. */
export async function age({ database }: TestServer, seconds: number): Promise<void> {
  await database.query(
    `update sessions set authenticated_at = authenticated_at - interval '${seconds} seconds'`,
  )
}

/** The events of this type, the newest first, that are stored. What is observed, and not noted, is to be polled for. */
export async function eventsOf({ server }: TestServer, type: string) {
  return (await server.oauth.audit.list({ type })).events
}
