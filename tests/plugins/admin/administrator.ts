/** An administrator at work: signed in, without eyes. */
import type { TestServer } from '../../support/server.ts'
import { createUserAgent, type Page, type UserAgent } from '../../support/user-agent.ts'

export const ROOT = { username: 'root', password: 'a password of an administrator', roles: ['admin'] }

/** A browser in which the user is signed in. */
export async function signedIn(
  server: TestServer,
  { username, password }: { username: string; password: string } = ROOT,
): Promise<UserAgent> {
  const agent = createUserAgent(server.url)
  const page = await agent.get(`${server.url}/sign-in`)
  await agent.submit(page, 'login', { username, password })
  return agent
}

/** Opens the form for a new client of this type and sends it, with more filled in. */
export async function register(
  server: TestServer,
  agent: UserAgent,
  type: string,
  fields: Record<string, string>,
): Promise<Page> {
  return agent.submit(await agent.get(`${server.url}/admin/clients/new?type=${type}`), 'client', fields)
}

/** The page of a client. */
export async function openClient(server: TestServer, agent: UserAgent, clientId: string): Promise<Page> {
  return agent.get(`${server.url}/admin/client?${new URLSearchParams({ client_id: clientId }).toString()}`)
}

/** The text of the element with this id. */
export function textOf({ body }: Page, id: string): string | undefined {
  return new RegExp(`\\sid="${id}"[^>]*>(?:<bdi>)?([^<]*)<`).exec(body)?.[1]
}

/** What a page that was refused says at its top, with the ways to what is wrong. */
export function alertOf({ body }: Page): string | undefined {
  return /<p class="alert"[^>]*role="alert">(.*?)<\/p>/s.exec(body)?.[1]
}

/** What a page says at its top of what was done. */
export function doneOn({ body }: Page): string | undefined {
  return /role="status">([^<]*)</.exec(body)?.[1]
}
