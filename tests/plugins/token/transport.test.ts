/** The token endpoint on the wire: addresses, methods, media types, headers of answers good and bad. */
import { describe, expect, test } from 'vitest'
import { createClient, requestToken } from '../../support/clients.ts'
import { startServer } from '../../support/server.ts'

const server = await startServer()
const client = await createClient(server, { scope: ['a'] })
const FORM = 'application/x-www-form-urlencoded'

/** The headers that say something about the content: all but the connection's. */
function contentHeaders(response: Response): Record<string, string> {
  const {
    date: _date,
    connection: _connection,
    'keep-alive': _keep,
    ...rest
  } = Object.fromEntries(response.headers) as Record<string, string>
  return rest
}

test('a token response has exactly these headers', async () => {
  const response = await requestToken(server, client)
  expect(contentHeaders(response)).toEqual({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    pragma: 'no-cache',
    'content-length': String((await response.arrayBuffer()).byteLength),
  })
})

test('a refusal has the same ones, and the id under which it is logged', async () => {
  const response = await requestToken(server, client, { scope: 'b' })
  const body = await response.text()
  expect(contentHeaders(response)).toEqual({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    pragma: 'no-cache',
    'content-length': String(body.length),
    'x-request-id': expect.stringMatching(/^[0-9a-f]{32}$/),
  })
  expect(Object.keys(JSON.parse(body))).toEqual(['error', 'error_description'])
  await expect.poll(() => server.output()).toContain(response.headers.get('x-request-id'))
})

describe.each(['/token', '/token/'])('%s', (path) => {
  test('issues without a redirect', async () => {
    const response = await server.post(path, { grant_type: 'client_credentials' }, client.basic)
    expect(response.status).toBe(200)
  })

  test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'])('%s is 405 with Allow', async (method) => {
    const response = await server.request(`${path}?grant_type=client_credentials`, {
      method,
      headers: client.basic,
    })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('POST')
  })
})

test('a path that only resembles it is 404', async () => {
  for (const path of ['/token//', '/Token', '/token/x', '/tokens']) {
    expect((await server.post(path, { grant_type: 'client_credentials' }, client.basic)).status).toBe(404)
  }
})

test.each([
  ['application/json', '{"grant_type":"client_credentials"}'],
  ['text/plain', 'grant_type=client_credentials'],
  ['multipart/form-data; boundary=x', '--x--'],
  [`${FORM}; charset=utf-16`, 'grant_type=client_credentials'],
])('a body of type %s is 415', async (type, body) => {
  const headers = { ...client.basic, 'content-type': type }
  const response = await server.request('/token', { method: 'POST', headers, body })
  expect(response.status).toBe(415)
  expect(await response.json()).toMatchObject({ error: 'invalid_request' })
})

test.each([FORM, `${FORM};charset=UTF-8`, `${FORM}; charset="utf-8"`, FORM.toUpperCase()])(
  'a body of type %s is a form',
  async (type) => {
    const headers = { ...client.basic, 'content-type': type }
    const init = { method: 'POST', headers, body: 'grant_type=client_credentials' }
    expect((await server.request('/token', init)).status).toBe(200)
  },
)

test('a request without any body says what is missing', async () => {
  const response = await server.request('/token', { method: 'POST', headers: client.basic })
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: 'invalid_request' })
})

test('parameters in the query are not read, and refused when they are in the body too', async () => {
  const form = { grant_type: 'client_credentials' }
  expect((await server.post('/token?scope=nonsense', form, client.basic)).status).toBe(200)
  expect((await server.post('/token?grant_type=client_credentials', form, client.basic)).status).toBe(400)
  const inQuery = `/token?client_id=${client.clientId}&client_secret=${client.clientSecret}`
  expect((await server.post(inQuery, form)).status).toBe(401)
})

test('unknown parameters, and known ones that the request does not use, are ignored', async () => {
  const names = [
    'response_type',
    'code',
    'redirect_uri',
    'a[b]',
    'a[]',
    '__proto__',
    'constructor',
    'toString',
  ]
  const response = await requestToken(
    server,
    client,
    names.map((name) => [name, 'x']),
  )
  expect(response.status).toBe(200)
})
