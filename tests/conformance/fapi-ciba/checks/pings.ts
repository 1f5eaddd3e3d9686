/** What is made of the answer of a client that is told (CIBA §10.2). */
import { expect } from 'vitest'
import type { ServerResponse } from 'node:http'
import { until } from '../../../support/until.ts'
import { ask, awaitPing, decide, pingsOf, poll } from '../back-channel.ts'
import type { CibaCheck, CibaChecks } from '../plan.ts'

/** Whatever it answers, it gets its tokens, and is told once. */
const answering = (answer: (response: ServerResponse, port: number) => unknown): CibaCheck => {
  return async (suite) => {
    const { answers, host, server } = suite
    answers.next = (response) => answer(response, host.port)
    const asked = await ask(suite)
    await decide(suite, asked, 'allow')
    await awaitPing(suite, asked)
    // Nothing is to be tried again, though the tokens still wait.
    await until(async () => {
      const waiting = await server.database.query('select kind from outbox where given_up_at is null')
      if (waiting.length > 0) throw new Error('it is still on its way')
    })
    expect(pingsOf(suite, asked)).toBe(1)
    expect((await poll(suite, asked)).status).toBe(200)
    expect(host.received.filter(({ url }) => url === '/elsewhere')).toEqual([])
  }
}

export const pings = {
  '-ping-backchannel-notification-endpoint-response-has-body': answering((response) =>
    response.writeHead(200, { 'content-type': 'text/plain' }).end('thank you'),
  ),
  '-ping-backchannel-notification-endpoint-response-401': answering((response) =>
    response.writeHead(401).end(),
  ),
  '-ping-backchannel-notification-endpoint-response-403': answering((response) =>
    response.writeHead(403).end(),
  ),
  '-ping-with-mtls-ciba-notification-endpoint-response-401-and-require-server-does-not-retry': answering(
    (response) => response.writeHead(401).end('again, though the token is good'),
  ),
  '-ping-backchannel-notification-endpoint-return-redirect-request': answering((response, port) =>
    response.writeHead(301, { location: `http://127.0.0.1:${port}/elsewhere` }).end(),
  ),
} satisfies CibaChecks
