/** docs/doors/pages.md, events.md and the outcome of people.md: their pieces, put together to one plugin as they stand there. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { createClient, getToken } from '../support/clients.ts'
import { startServer } from '../support/server.ts'
import { openPage } from './page.ts'

test('the pieces make a plugin: a page, an outcome, events', async () => {
  const pages = await openPage('doors/pages.md')
  const people = await openPage('doors/people.md')
  const heard = await openPage('doors/events.md')
  const [counter, template] = [pages.next('ts'), pages.next('html')]
  pages.end()
  for (const language of ['ts', 'eta', 'ts', 'ts']) people.next(language)
  const outcome = people.next('ts')
  const events = heard.next('ts')
  heard.end()

  const directory = await temporaryDirectory()
  const declarations: string[] = []
  const statements = [counter, outcome, events].map((piece) =>
    piece.replace(/^declare module[\s\S]*?^\}\n/gm, (declaration) => {
      declarations.push(declaration)
      return ''
    }),
  )
  expect(declarations).toHaveLength(2)
  const plugin = [
    `import { Type } from 'latchkey'`,
    ...declarations,
    'export default async function pieces(fastify: any): Promise<void> {',
    'const { oauth } = fastify',
    'const heard: string[] = []',
    ...statements,
    `fastify.get('/heard', async () => heard)`,
    '}',
  ]
  const PLUGINS = join(directory, 'pieces.ts')
  await writeFile(PLUGINS, plugin.join('\n'))
  await writeFile(join(directory, 'counter.eta'), template)
  const server = await startServer({ PLUGINS })

  const shown = await (await server.get('/counter?customer=Ann')).text()
  expect(shown).toContain('<h1>Good morning, <bdi>Ann</bdi></h1>')
  const client = await createClient(server, { scope: ['read'] })
  await getToken(server, client)
  expect(await (await server.get('/heard')).json()).toEqual([`${client.clientId} by client_credentials`])
}, 120_000)
