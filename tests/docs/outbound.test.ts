/** docs/doors/outbound.md: its pieces of code, put together to one plugin as they stand there. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { startReceiver } from '../support/receiver.ts'
import { startServer } from '../support/server.ts'
import { openPage, substitute } from './page.ts'

test('the pieces make a plugin: it asks an address, and tells another what happens', async () => {
  const page = await openPage('doors/outbound.md')
  const [asks, tells, listens] = [page.next('ts'), page.next('ts'), page.next('ts')]
  page.end()

  const { port, received } = await startReceiver((request, response) =>
    request.url === '/app.json'
      ? response.end(JSON.stringify({ name: 'Photo Prints' }))
      : response.writeHead(204).end(),
  )
  const origin = `http://127.0.0.1:${port}`
  const [registered, enqueued] = tells.split('\n\n')
  const plugin = [
    `import { Type, type Client } from 'latchkey'`,
    'export default async function pieces(fastify: any): Promise<void> {',
    'const { oauth } = fastify',
    asks,
    substitute(registered!, { 'https://intranet.example': origin }),
    listens,
    `fastify.get('/name', async () => {`,
    enqueued!,
    `return nameOf(await oauth.findClient('app')) })`,
    '}',
  ]
  const PLUGINS = join(await temporaryDirectory(), 'pieces.ts')
  await writeFile(PLUGINS, plugin.join('\n'))
  const seed = {
    clients: [
      { client_id: 'app', client_secret: 'a secret that was chosen', client_uri: origin, scope: ['a'] },
    ],
    users: [{ username: 'ada', password: 'a password of ada' }],
  }
  const server = await startServer({ PLUGINS, UNSAFE_OUTBOUND_ORIGINS: origin }, { seed })

  expect(await (await server.get('/name')).text()).toBe('Photo Prints')
  const { id } = await server.server.oauth.users.disable('ada')
  const told = () =>
    received
      .filter(({ url }) => url === '/news')
      .map(({ body }) => (JSON.parse(body) as { text: string }).text)
      .toSorted()
  await expect
    .poll(told)
    .toEqual(['The identity server has a new plugin.', `${id}: user.disabled`].toSorted())
})
