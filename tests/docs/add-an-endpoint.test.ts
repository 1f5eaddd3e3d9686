/** docs/add-an-endpoint.md, as it stands there. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { createClient, getToken } from '../support/clients.ts'
import { bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { openPage, sitDown, substitute } from './page.ts'

test('a shop gets a voucher, others do not; a token reads books', async () => {
  const page = await openPage('add-an-endpoint.md')
  const [endpoint, commands, route] = [page.next('js'), page.next('sh'), page.next('js')]
  page.end()

  const directory = await temporaryDirectory()
  const plugins = ['vouchers.js', 'books.js'].map((name) => join(directory, name))
  await writeFile(plugins[0]!, endpoint)
  await writeFile(plugins[1]!, route)
  const server = await startServer({ PLUGINS: plugins.join(',') })
  const desk = await sitDown(server.settings)
  const { stdout } = await desk.sh(substitute(commands, { 'https://login.example.com': server.url }))
  expect(JSON.parse(stdout)).toEqual({ voucher: expect.any(String), expires_in: 3600 })

  const metadata = (await (await server.get('/.well-known/openid-configuration')).json()) as Record<
    string,
    unknown
  >
  expect(metadata['voucher_endpoint']).toBe(`${server.url}/vouchers`)
  const reader = await createClient(server, { scope: ['read_books'] })
  const refused = await server.post('/vouchers', { value: '20' }, reader.basic)
  expect(await refused.json()).toMatchObject({ error: 'unauthorized_client' })
  for (const value of ['', '0', '1000']) {
    const wrong = await server.post('/vouchers', { value }, reader.basic)
    expect(wrong.status).toBe(400)
  }
  const { access_token: token } = await getToken(server, reader)
  const books = await server.get('/books', bearer(token))
  expect(await books.json()).toEqual({ reader: reader.clientId, books: ['The Trial'] })
})
