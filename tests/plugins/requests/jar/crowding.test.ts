/**
 * Whoever registers an app can have the server ask addresses that never answer, as often as they like; what else it has to ask goes on.
 * @needs latchkey-jar
 */
import { expect, test } from 'vitest'
import { createAssertionKey } from '../../../support/client-assertions.ts'
import { atEndOfFile } from '../../../support/cleanup.ts'
import { addressOf, requestObject, signingApp } from '../../../support/request-objects.ts'
import { startReceiver } from '../../../support/receiver.ts'
import { startServer } from '../../../support/server.ts'
import { SEED } from '../../../support/sign-in.ts'

test('a hundred request objects that never come keep nobody else waiting', async () => {
  const away = await Promise.all(Array.from({ length: 10 }, async () => startReceiver(() => {})))
  const well = await startReceiver((_request, response) => response.end('well'))
  const origins = away.map(({ port }) => `http://127.0.0.1:${port}`)
  const uris = origins.flatMap((origin) => Array.from({ length: 10 }, (_, n) => `${origin}/${n}`))
  const app = signingApp('app', await createAssertionKey(), { request_uris: uris })
  const server = await startServer(
    { UNSAFE_OUTBOUND_ORIGINS: [...origins, `http://127.0.0.1:${well.port}`].join(',') },
    { seed: { ...SEED, clients: [app] } },
  )
  const over = new AbortController()
  atEndOfFile(async () => over.abort())
  let refused = 0
  for (const uri of uris)
    void server
      .request(addressOf('app', { request_uri: uri }), { signal: over.signal })
      .then(() => refused++)
      .catch(() => {})
  // Either all of them are asked now, or most were refused at once.
  const underWay = () => away.flatMap(({ received }) => received).length
  await expect.poll(() => underWay() === uris.length || refused >= 90).toBe(true)
  expect(await (await server.server.oauth.fetch(`http://127.0.0.1:${well.port}/`)).text()).toBe('well')
})

test('who has no place left has what others ask at the same time fail for nobody else', async () => {
  const key = await createAssertionKey()
  const away = await Promise.all([1, 2].map(async () => startReceiver(() => {})))
  let jwt = ''
  /** Waits for an answer, so that whoever comes meanwhile shares the next read. */
  let waiting: (() => void) | undefined
  let isWaiting = true
  const well = await startReceiver((_request, response) => {
    const answer = () => response.writeHead(200, { 'content-type': 'application/oauth-authz-req+jwt' }).end(jwt)
    if (isWaiting) waiting = answer
    else answer()
  })
  const [hanging, object] = [away.map(({ port }) => `http://127.0.0.1:${port}`), `http://127.0.0.1:${well.port}/object`]
  const uris = Array.from({ length: 10 }, (_, n) => `${hanging[n % 2]!}/${n}`)
  const clients = [signingApp('crowd', key, { request_uris: uris }), signingApp('app', key, { request_uris: [object] })]
  const UNSAFE_OUTBOUND_ORIGINS = [...hanging, new URL(object).origin].join(',')
  const server = await startServer({ UNSAFE_OUTBOUND_ORIGINS, TRUSTED_PROXIES: '127.0.0.1' }, { seed: { ...SEED, clients } })
  jwt = await requestObject(key, 'app', server.url)
  let arrived = 0
  server.server.server.on('request', () => arrived++)
  const over = new AbortController()
  atEndOfFile(async () => over.abort())
  const ask = async (client: string, request_uri: string, from: string) =>
    server.request(addressOf(client, { request_uri }), { headers: { 'x-forwarded-for': from }, signal: over.signal })
  for (const uri of uris) void ask('crowd', uri, '203.0.113.66').catch(() => {})
  await expect.poll(() => away.flatMap(({ received }) => received).length).toBe(10)

  const first = ask('app', `${object}#a`, '198.51.100.1')
  await expect.poll(() => waiting).toBeDefined()
  // The network without a place comes first, and is refused; who comes with it is not.
  const crowded = ask('app', `${object}#a`, '203.0.113.66')
  await expect.poll(() => arrived).toBe(12)
  const others = [2, 3].map(async (n) => ask('app', `${object}#a`, `198.51.100.${n}`))
  await expect.poll(() => arrived).toBe(14)
  isWaiting = false
  waiting!()
  expect((await crowded).status).toBe(503)
  for (const one of [first, ...others]) expect((await one).status).toBe(303)
}) // prettier-ignore
