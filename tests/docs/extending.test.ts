/** docs/extending.md: its pieces of code, put together to one plugin as they stand there. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { createClient, getToken } from '../support/clients.ts'
import { startServer } from '../support/server.ts'
import { openPage } from './page.ts'

test('the pieces make a plugin: a parameter, a page, an outcome, events', async () => {
  const page = await openPage('extending.md')
  const [parameter, counter, template, outcome, events] = [
    page.next('ts'),
    page.next('ts'),
    page.next('html'),
    page.next('ts'),
    page.next('ts'),
  ]
  page.end()

  const directory = await temporaryDirectory()
  const declarations: string[] = []
  const statements = [parameter, counter, outcome, events].map((piece) =>
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

  const { consent } = kernelOf(server.server)
    .doors.all('parameter')
    .find(({ name }) => name === 'customer')!
  expect(consent!('Ann')).toEqual([{ key: 'Ann', text: 'Vouchers of the customer Ann' }])
  const shown = await (await server.get('/counter?customer=Ann')).text()
  expect(shown).toContain('<h1>Good morning, <bdi>Ann</bdi></h1>')
  const client = await createClient(server, { scope: ['read'] })
  await getToken(server, client)
  expect(await (await server.get('/heard')).json()).toEqual([`${client.clientId} by client_credentials`])
}, 120_000)
