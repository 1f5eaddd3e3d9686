/** docs/doors/endpoints-and-answers.md: its pieces put together to a plugin, and its features, which are the strangers' own files. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { createClient, getToken } from '../support/clients.ts'
import { bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { answerOf, authorize, authorizationUrl, SEED } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { checkout, openPage } from './page.ts'

test('an endpoint and a member of the answer as they stand there; and the features are those that strangers install', async () => {
  const page = await openPage('doors/endpoints-and-answers.md')
  const endpoint = page.next('ts')
  for (const name of ['jwt-introspection', 'hybrid', 'jarm'])
    expect(page.next('ts')).toBe(await readFile(join(checkout, `tests/strangers/${name}/${name}.ts`), 'utf8'))
  const member = page.next('ts')
  page.end()

  const PLUGINS = join(await temporaryDirectory(), 'pieces.ts')
  const head = [
    `import { createHash, randomBytes } from 'node:crypto'`,
    `import { answer, OAuthError, Type } from 'latchkey'`,
    'export default async function pieces({ oauth }: any): Promise<void> {',
  ]
  await writeFile(PLUGINS, [...head, endpoint, member, '}'].join('\n'))
  const server = await startServer({ PLUGINS }, { seed: SEED })

  const client = await createClient(server, { scope: ['write_books'] })
  const { access_token: token } = await getToken(server, client)
  const put = async (shelf: string) =>
    server.request(`/shelves/${shelf}`, {
      method: 'PUT',
      body: '{"title":"The Trial"}',
      headers: { 'content-type': 'application/json', ...bearer(token) },
    })
  const [made, full] = [await put('two'), await put('full')]
  expect([made.status, made.headers.get('location')]).toEqual([201, `${server.url}/shelves/two`])
  expect(await made.json()).toEqual({ title: 'The Trial', by: client.clientId })
  expect([full.status, await full.json()]).toMatchObject([409, { error: 'invalid_request' }])

  const agent = createUserAgent(server.url)
  expect((await authorize(server, {}, agent)).get('session_state')).toMatch(/^[0-9a-f]{64}\.[0-9a-f]{16}$/)
  const refused = answerOf(await agent.get(authorizationUrl(server, { scope: 'nothing' })))
  expect([refused.get('error'), refused.has('session_state')]).toEqual(['invalid_scope', false])
})
