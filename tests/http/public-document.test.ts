/** Documents that others keep: asked for again by their tag, and given anew when they have changed. */
import { expect, test } from 'vitest'
import { startServer } from '../support/server.ts'

const server = await startServer()
const PATHS = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server', '/jwks']

const getUnless = async (path: string, tags: string): Promise<Response> =>
  server.get(path, { 'if-none-match': tags, origin: 'https://app.example' })

test.each(PATHS)('%s is not sent again to who has it', async (path) => {
  const { headers } = await server.get(path)
  const etag = headers.get('etag')!
  expect(etag).toMatch(/^"[\w-]{43}"$/)
  for (const tags of [etag, `W/${etag}`, `"another", ${etag}`, '*']) {
    const response = await getUnless(path, tags)
    expect([tags, response.status, await response.text()]).toEqual([tags, 304, ''])
    for (const name of ['etag', 'cache-control']) expect(response.headers.get(name)).toBe(headers.get(name))
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
  }
})

test.each(PATHS)('%s is sent to who has another, or asks for none', async (path) => {
  const whole = await (await server.get(path)).text()
  expect(Object.keys(JSON.parse(whole) as object).length).toBeGreaterThan(0)
  for (const tags of ['"another"', 'W/"another"', 'another', '', '""', '"', ',,']) {
    const response = await getUnless(path, tags)
    expect([tags, response.status, await response.text()]).toEqual([tags, 200, whole])
  }
})

test('HEAD has the tag and the length, and no body', async () => {
  const [got, asked] = [await server.get('/jwks'), await server.request('/jwks', { method: 'HEAD' })]
  for (const name of ['etag', 'content-length', 'content-type'])
    expect(asked.headers.get(name)).toBe(got.headers.get(name))
  expect(await asked.text()).toBe('')
})

test('a new key is a new document', async () => {
  const before = (await server.get('/jwks')).headers.get('etag')!
  await server.server.oauth.keys.rotate('ES256')
  const response = await getUnless('/jwks', before)
  expect(response.status).toBe(200)
  expect(response.headers.get('etag')).not.toBe(before)
})
