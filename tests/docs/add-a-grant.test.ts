/** docs/add-a-grant.md, as it stands there. */
import { join } from 'node:path'
import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { startServer } from '../support/server.ts'
import { statusOf } from '../support/service.ts'
import { basic } from '../support/requests.ts'
import { openPage, sitDown, substitute } from './page.ts'

test('a badge gets a token of its user, and guessing ends', async () => {
  const page = await openPage('add-a-grant.md')
  const [plugin, commands] = [page.next('js'), page.next('sh')]
  page.end()

  const PLUGINS = join(await temporaryDirectory(), 'badge.js')
  await writeFile(PLUGINS, plugin)
  const server = await startServer({ PLUGINS })
  const desk = await sitDown({ ...server.settings, PLUGINS })
  const { stdout } = await desk.sh(
    `${substitute(commands, { 'https://login.example.com': server.url })}\necho; echo "$id $secret"`,
  )
  const [answer, client] = stdout.trim().split('\n').slice(-2)
  const { access_token: token, scope } = JSON.parse(answer!) as Record<string, string>
  const user = await server.server.oauth.users.find('badge-123456')
  expect(scope).toBe('read_books')
  expect(await server.server.oauth.readToken(token!)).toMatchObject({ sub: user!.id })

  const credentials = basic(...(client!.split(' ') as [string, string]))
  const asked = { grant_type: 'urn:example:badge', badge: '123456' }
  const withScope = async (wanted: string): Promise<unknown> =>
    (await server.post('/token', { ...asked, scope: wanted }, credentials)).json()
  expect(await withScope('openid')).toMatchObject({ scope: 'openid' })
  expect(await withScope('delete_books')).toMatchObject({ error: 'invalid_scope' })
  const guess = async (badge: string) =>
    statusOf(server.post('/token', { grant_type: 'urn:example:badge', badge }, credentials))
  expect(await guess('short')).toBe(400)
  const statuses = await Promise.all(
    Array.from({ length: 60 }, async (_, index) => guess(`${900_000 + index}`)),
  )
  expect(new Set(statuses)).toEqual(new Set([400, 429]))
})
