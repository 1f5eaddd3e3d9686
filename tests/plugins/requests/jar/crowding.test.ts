/**
 * Whoever registers an app can have the server ask addresses that never answer, as often as they like; what else it has to ask goes on.
 * @needs latchkey-jar
 */
import { expect, test } from 'vitest'
import { createAssertionKey } from '../../../support/client-assertions.ts'
import { atEndOfFile } from '../../../support/cleanup.ts'
import { addressOf, signingApp } from '../../../support/request-objects.ts'
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
