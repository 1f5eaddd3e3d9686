import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { sendRaw } from '../support/raw-http.ts'
import { rawRefusal } from '../support/refusals.ts'
import { startServer } from '../support/server.ts'

test('headers have 10 s to come, and a whole request 30 s', async () => {
  const { server } = await startServer()
  const { headersTimeout, requestTimeout } = server.server
  expect({ headersTimeout, requestTimeout }).toEqual({ headersTimeout: 10_000, requestTimeout: 30_000 })
})

test('headers or a body that come too slowly are cut off, and nobody else is held up', async () => {
  const server = await startServer()
  // The server's own limits, shorter: they are read at each look.
  Object.assign(server.server.server, { headersTimeout: 300, requestTimeout: 600 })
  const slow = [
    'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-',
    'POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 30\r\n\r\ngrant',
    'POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n',
  ].map((bytes) => sendRaw(server.url, bytes))
  expect((await server.get('/healthz')).status).toBe(200)
  for (const answer of await Promise.all(slow)) {
    expect(answer.closed).toBe(true)
    expect(await rawRefusal(Promise.resolve(answer))).toEqual([408, 'invalid_request'])
  }
})

test('a client that goes away in the middle is no error of ours in the log', async () => {
  const server = await startServer()
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  const begun = once(server.server.server, 'request')
  socket.write(
    'POST /token HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\na',
  )
  await begun
  socket.resetAndDestroy()
  await expect.poll(() => server.output()).toContain('the request was cut off')
  expect(server.output()).not.toMatch(/"level":"(?:warn|error|fatal)"/)
})
