/** Whoever tries resources out on the demo: its API follows the scope that it needs. */
import { expect, test } from 'vitest'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Type } from '../../src/protocol/schema.ts'
import { runCommandHere } from '../support/command-here.ts'
import { startServer } from '../support/server.ts'

const server = await startServer({}, { seed: 'demo' })
const { settings, post, get } = server
const [id, secret] = (await readFile(join(String(settings.DATA_DIR), 'demo-client'), 'utf8'))
  .trim()
  .split(':')

async function token(): Promise<string> {
  const answer = await post('/token', { grant_type: 'client_credentials' }, { authorization: `Basic ${btoa(`${id}:${secret}`)}` })
  return ((await answer.json()) as { access_token: string }).access_token
} // prettier-ignore

const books = async (accessToken: string) => get('/books', { authorization: `Bearer ${accessToken}` })

test('read_books moved to a resource, and back: the books are there for the tokens that it gives', async () => {
  const before = await token()
  expect((await books(before)).status).toBe(200)
  const { resources } = server.server.oauth
  await resources.saveResource({ resource: 'https://books.example' })
  await resources.saveScope({ name: 'read_books', resource: 'https://books.example' })
  const moved = await token()
  expect(JSON.parse(Buffer.from(moved.split('.')[1]!, 'base64url').toString())).toMatchObject({
    aud: 'https://books.example',
  })
  expect((await books(moved)).status).toBe(200)
  expect((await get('/books')).status).toBe(401)
  await resources.saveScope({ name: 'read_books', resource: null })
  expect((await books(moved)).status).toBe(401)
  expect((await books(await token())).status).toBe(200)
})

test('a command asks the server before it says that nothing serves a grant', async () => {
  const CIBA = 'urn:openid:params:grant-type:ciba'
  const serving = await startServer(
    {},
    {
      extend: ({ oauth }) =>
        oauth.registerGrant({ type: CIBA, parameters: Type.Object({}), authorize: async () => Promise.reject(new Error('not here')) }),
    },
  )
  const create = ['client', 'create', '--grant-types', CIBA, 'password', '--json']
  const { status, stderr } = await runCommandHere(create, { ...serving.settings, LOG_LEVEL: 'warn' })
  expect(status).toBe(0)
  expect(stderr).toMatch(/^Stored, but nothing serves it: using it is refused \(.*name "password"\)\.$/m)
  expect(stderr).not.toContain(CIBA)
}) // prettier-ignore
