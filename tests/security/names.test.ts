/** What people and apps are called, on pages: in its own direction, and nothing of it reaches the words beside it. */
import { expect, test } from 'vitest'
import { startServer } from '../support/server.ts'
import { authorizationUrl, SEED } from '../support/sign-in.ts'
import { createUserAgent, type Page, type UserAgent } from '../support/user-agent.ts'
import { signedIn } from '../plugins/account/owner.ts'

const password = 'a password of their own'
/** It ends the isolate that it stands in, and turns around what comes. */
const HOSTILE = '\u2069\u202E'
const SEEN = 'moc.live'
const NAME = `${HOSTILE}${SEEN}`
const root = { username: `root ${NAME}`, password, name: NAME, roles: ['admin'] }
const app = { ...SEED.clients[0]!, client_name: NAME }
const server = await startServer({}, { seed: { ...SEED, users: [root], clients: [app] } })
const { oauth } = server.server

/** Texts that hold it, with the element that they stand in; fields keep what was typed. */
function placesOf({ body }: Page): string[] {
  return [...body.matchAll(/<(\w+)[^>]*>([^<]*)/g)].filter(([, , text]) => text!.includes(SEEN)).map(([, name, text]) => `${name} ${/[\u202A-\u202E\u2066-\u2069]/.test(text!)}`)
} // prettier-ignore

async function pagesOf(agent: UserAgent): Promise<Page[]> {
  const { id } = (await oauth.users.find(root.username))!
  const paths = ['/account', '/account/apps', '/account/sessions', '/account/activity', '/account/security', '/account/data', '/admin', '/admin/users', '/admin/clients', '/admin/client?id=web', '/admin/authorizations?client=web', '/admin/audit', `/admin/user?id=${id}`] // prettier-ignore
  return Promise.all(paths.map(async (path) => agent.get(server.url + path)))
}

test('is isolated on consent, and wherever it is listed', async () => {
  const agent = await signedIn(server, root)
  const consent = await agent.get(authorizationUrl(server, { scope: 'openid profile read_books', prompt: 'consent' }))
  await agent.submit(consent, 'consent', { decision: 'allow' })
  const pages = [consent, ...(await pagesOf(agent))]
  const places = pages.flatMap(placesOf)
  expect(pages.filter((page) => placesOf(page).length > 0).length).toBeGreaterThan(8)
  expect([...new Set(places)].toSorted()).toEqual(['bdi false', 'title false'])
}) // prettier-ignore

test('is in a field as it was typed', async () => {
  const agent = await signedIn(server, root)
  expect((await agent.get(`${server.url}/account/profile`)).body).toContain(`value="${NAME}"`)
  const asked = await createUserAgent(server.url).get(authorizationUrl(server, { login_hint: NAME }))
  expect(asked.body).toContain(`value="${NAME}"`)
})
