/**
 * Names that every object of JavaScript has, where anybody may name something: whoever looks such a name up in an object
 * finds what nobody put there. No route of ours, or of the example plugin, falls for one.
 */
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { EventType, NewEvent } from '../../src/events.ts'
import { eventInWords } from '../../plugins/account/event-words.ts'
import { changesBetween } from '../../src/protocol/changes.ts'
import { signedIn } from '../plugins/admin/administrator.ts'
import { runCommandHere } from '../support/command-here.ts'
import { basic } from '../support/requests.ts'
import { routesOf } from '../support/routes.ts'
import { startServer } from '../support/server.ts'
import { authorizationUrl, SEED, WEB } from '../support/sign-in.ts'

const INHERITED = ['constructor', '__proto__', 'toString', 'hasOwnProperty']
/** Of requests, pages and forms. */
const PARAMETERS = [
  'client_id', 'client_secret', 'grant_type', 'scope', 'resource', 'audience', 'code', 'redirect_uri', 'code_verifier',
  'refresh_token', 'response_type', 'response_mode', 'state', 'nonce', 'prompt', 'max_age', 'display', 'acr_values',
  'ui_locales', 'claims', 'login_hint', 'id_token_hint', 'request', 'token', 'token_type_hint', 'access_token',
  'post_logout_redirect_uri', 'type', 'format', 'user', 'request_id', 'from', 'to', 'search', 'after', 'id', 'done',
  'saved', 'again', 'kid', 'rotated', 'algorithm', 'handle', 'return_to', 'fresh', 'username', 'decision', 'user_code',
  ...INHERITED,
] // prettier-ignore
const ROOT = { username: 'root', password: 'a password of the administrator', roles: ['admin'] }

const server = await startServer({}, { seed: { ...SEED, users: [...SEED.users, ROOT] } })
const agent = await signedIn(server, ROOT)
const cookie = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
/** Sent at once: more would wait for the database for longer than a request does. */
const HANDFUL = 8
const headers = { host: new URL(server.url).host, origin: server.url, accept: 'text/html' }
const asAdministrator = { ...headers, cookie }
const asClient = { ...headers, ...basic(WEB.client_id, WEB.client_secret) }
const routes = routesOf(server.server).map(({ url }) => url).filter((url) => !url.endsWith('/')) // prettier-ignore
const failed: unknown[] = []

/** In the process, so that there can be many; each in a turn of its own, or else the server takes itself for overloaded. */
async function send(
  method: 'GET' | 'POST',
  url: string,
  given: object,
  body?: URLSearchParams,
): Promise<void> {
  await setImmediate()
  const { statusCode, body: answer } = await server.server.inject({
    method,
    url,
    headers: {
      ...given,
      ...(body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
    },
    ...(body === undefined ? {} : { payload: body.toString() }),
  })
  if (statusCode >= 500) failed.push([method, url, body?.toString(), statusCode, answer])
}

// Two, for the time it takes: the others are found in the same way.
test.each(INHERITED.slice(0, 2))('%s names nothing, at any route, in any parameter', async (name) => {
  expect(routes.length).toBeGreaterThan(60)
  for (const route of routes) {
    const url = route.replaceAll(/:\w+/g, name) || '/'
    await send('GET', url, asAdministrator)
    const sweep = async (parameter: string): Promise<void> => {
      const query = new URLSearchParams({ [parameter]: name })
      await send('GET', `${url}?${query.toString()}`, asAdministrator)
      if (!/^\/(?:admin|account)/.test(url)) await send('POST', url, asClient, query)
    }
    for (let from = 0; from < PARAMETERS.length; from += HANDFUL)
      await Promise.all(PARAMETERS.slice(from, from + HANDFUL).map(sweep))
  }
  // What is refused before it is looked up, but for one parameter.
  for (const parameter of PARAMETERS) {
    await send(
      'GET',
      authorizationUrl(server, { [parameter]: name }).slice(server.url.length),
      asAdministrator,
    )
    for (const grant_type of ['client_credentials', 'authorization_code', 'refresh_token'])
      await send('POST', '/token', asClient, new URLSearchParams({ grant_type, [parameter]: name }))
  }
  const claims = JSON.stringify({ userinfo: JSON.parse(`{"${name}":null}`) as object })
  await send('GET', authorizationUrl(server, { claims }).slice(server.url.length), asAdministrator)
  expect(failed).toEqual([])
})

test.each(INHERITED)('an event that a plugin calls %s is shown as it is', async (name) => {
  const { audit, users } = server.server.oauth
  const type = name as EventType
  const user = (await users.find(ROOT.username))!.id
  audit.observe({ type, user, details: { [name]: 'said' } } as unknown as NewEvent)
  await expect.poll(async () => (await audit.list({ type })).events.length).toBe(1)
  for (const path of [`/admin/audit?type=${name}`, '/admin/audit', '/admin', '/account/activity'])
    expect([path, (await agent.get(server.url + path)).status]).toEqual([path, 200])
  const [stored] = (await audit.list({ type })).events
  expect(eventInWords(stored!)).toBeUndefined()
})

test('a member that nothing had is new, whatever it is called', () => {
  expect(changesBetween({}, { constructor: 'a', toString: null })).toEqual({ constructor: [null, 'a'] })
})

test('no option of the command line', async () => {
  for (const name of ['constructor', 'valueof']) {
    const settings = { DATABASE_URL: server.database.url, SECRET_KEY: String(server.settings['SECRET_KEY']) }
    const { status, stderr } = await runCommandHere(['client', 'create', `--${name}`, 'x'], settings)
    const told = `--${name} is not an option, nor a member of client metadata. One of a plugin is known where PLUGINS names that.\n`
    expect([status, stderr]).toEqual([1, told])
  }
})
