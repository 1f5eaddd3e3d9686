/** An administrator's day: the first link, a web app and a service that both work, new scopes, new secrets, the end. */
import * as openidClient from 'openid-client'
import { expect, test } from 'vitest'
import { openClient, register, textOf } from '../plugins/admin/administrator.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { basic } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { ALICE, goThrough } from '../support/sign-in.ts'
import { createUserAgent, type Page } from '../support/user-agent.ts'

const REDIRECT_URI = 'https://prints.example/callback'
const seed = { users: [ALICE], scopes: [{ name: 'read_books', description: 'Read your books' }] }
const server = await startServer({}, { seed })
const administrator = createUserAgent(server.url)

const credentialsOn = (page: Page): [string, string] => [
  textOf(page, 'client-id')!,
  textOf(page, 'client-secret')!,
]

/** The code that a page offers to be copied, run under the settings that it offers with it. */
async function runSnippet<T>(page: Page, then: string): Promise<T> {
  const plain = (id: string) => textOf(page, id)!.replaceAll('&#39;', "'").replaceAll('&gt;', '>').replaceAll('&amp;', '&')
  const env = Object.fromEntries(plain('env').split('\n').map((line) => line.split(/=(.*)/s).slice(0, 2)))
  const code = plain('snippet').replace("import * as client from 'openid-client'", '').replace(/console\.log.*/, '')
  // oxlint-disable-next-line typescript/no-implied-eval -- what people paste into a file of their own
  const run = new Function('client', 'process', `return (async () => { ${code}\n${then} })()`)
  return run(openidClient, { env }) as Promise<T>
} // prettier-ignore

async function serviceToken(clientId: string, secret: string) {
  const response = await server.post('/token', { grant_type: 'client_credentials' }, basic(clientId, secret))
  const { access_token: token, scope } = (await response.json()) as { access_token?: string; scope?: string }
  return { status: response.status, token, scope }
}

test('from the first link to the deletion of what was registered', async () => {
  const link = `${server.url}/setup?token=${await kernelOf(server.server).firstAdministrator.invite()}`
  const account = { username: 'root', password: 'a password of an administrator' }
  const done = await administrator.submit(await administrator.get(link), 'setup', account)
  const start = new URL(/class="button primary" href="([^"]*)"/.exec(done.body)![1]!, done.url).href
  const list = await administrator.get(start)
  expect([list.url, list.status]).toEqual([`${server.url}/admin`, 200])

  // A web app, by the code that its page offers.
  const app = { client_name: 'Photo Prints', redirect_uris: REDIRECT_URI, scope: 'read_books' }
  const webPage = await register(server, administrator, 'web', app)
  const [webId] = credentialsOn(webPage)
  const { href, verifier } = await runSnippet<{ href: string; verifier: string }>(webPage, 'return { href: url.href, verifier: codeVerifier }')
  const user = createUserAgent(server.url)
  const answer = await goThrough(user, await user.get(href))
  const tokens = await runSnippet<openidClient.TokenEndpointResponse & openidClient.TokenEndpointResponseHelpers>(
    webPage,
    `return client.authorizationCodeGrant(config, new URL('${answer.headers.get('location')}'), { pkceCodeVerifier: '${verifier}' })`,
  )
  expect(tokens.scope?.split(' ')).toEqual(['openid', 'profile', 'read_books'])
  expect(tokens.claims()).toMatchObject({ aud: webId, name: 'Alice Example' })

  // A service; another scope is in its next token.
  const servicePage = await register(server, administrator, 'service', { client_name: 'Reports', scope: 'read_books' })
  const [serviceId, first] = credentialsOn(servicePage)
  const token = await runSnippet<string>(servicePage, 'return tokens.access_token')
  expect(token.split('.')).toHaveLength(3)
  expect(await serviceToken(serviceId, first)).toMatchObject({ status: 200, scope: 'read_books' })
  await administrator.submit(await openClient(server, administrator, serviceId), 'client', { scope: 'read_books write_books' })
  expect(await serviceToken(serviceId, first)).toMatchObject({ status: 200, scope: 'read_books write_books' })

  // A new secret: first beside the old one, then alone.
  const rotate = async (id: string, overlap: string): Promise<string> =>
    credentialsOn(await administrator.submit(await openClient(server, administrator, id), 'rotate-secret', { overlap }))[1]
  const second = await rotate(serviceId, '3600')
  for (const secret of [first, second]) expect((await serviceToken(serviceId, secret)).status).toBe(200)
  const third = await rotate(serviceId, '0')
  for (const secret of [first, second]) expect((await serviceToken(serviceId, secret)).status).toBe(401)
  expect((await serviceToken(serviceId, third)).status).toBe(200)

  // And the end of both.
  for (const id of [serviceId, webId])
    await administrator.submit(await openClient(server, administrator, id), 'delete-client', { confirm_client_id: id })
  expect((await serviceToken(serviceId, third)).status).toBe(401)
  expect((await user.get(href)).status).toBe(400)
  expect((await administrator.get(`${server.url}/admin/clients`)).body).toContain('There are none yet')
}) // prettier-ignore
