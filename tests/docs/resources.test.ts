/** docs/resources.md, as it stands there: a resource with aliases, a token by one of them, and a default for who names none. */
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { startServer } from '../support/server.ts'
import { openPage, sitDown, substitute } from './page.ts'

test('its aliases, and its default', async () => {
  const page = await openPage('resources.md')
  const [register, ask, byDefault] = [page.next('sh'), page.next('sh'), page.next('sh')]
  page.end()
  const server = await startServer()
  const desk = await sitDown(server.settings)
  await desk.sh(register)
  await server.server.oauth.clients.update('reader', { scope: ['read_notes', 'plain'] })
  const resource = 'https://mcp.example.com/mcp'
  const tokenBy = async (block: string): Promise<unknown> => {
    const { stdout } = await desk.sh(substitute(block, { 'https://login.example.com': server.url }))
    return decodeJwt((JSON.parse(stdout) as { access_token: string }).access_token).aud
  }
  await expect.poll(async () => tokenBy(ask).catch(() => null)).toBe(resource)

  const [withoutName] = ask.split(' \\\n')
  expect(await tokenBy(withoutName!)).toEqual([resource, server.url])
  const { stdout } = await desk.sh(byDefault)
  expect(JSON.parse(stdout)).toMatchObject({ default_resource: resource })
  await expect.poll(async () => tokenBy(withoutName!)).toBe(resource)
})
