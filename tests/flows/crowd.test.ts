/** More at once than there are connections to the database, by far: all are answered, and nobody waits for ever. */
import { expect, test } from 'vitest'
import { requestToken } from '../support/clients.ts'
import { type Answer, codesOf, exchangeAs, refreshAs } from '../support/code-flow.ts'
import { spawnServer } from '../support/process.ts'
import { bearer } from '../support/requests.ts'
import { statusOf, toClient } from '../support/service.ts'
import { SEED, WEB } from '../support/sign-in.ts'

const CROWD = 100
const opaque = { ...WEB, client_id: 'opaque', access_token_format: 'opaque', scope: ['read_books'] }
const server = await spawnServer({ DATABASE_POOL_SIZE: 2 }, { seed: { ...SEED, clients: [WEB, opaque] } })
const clients = [toClient(WEB), toClient(opaque)] as const

const many = async <T>(make: (client: (typeof clients)[number], index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: CROWD }, async (_, index) => make(clients[index % 2]!, index)))

const statusesOf = (answers: readonly Answer[]): number[] => [...new Set(answers.map(({ status }) => status))]

test('codes, refresh tokens, userinfo and introspection by a hundred at once, on two connections', async () => {
  const getCode = codesOf(server)
  const codes: string[] = []
  for (let index = 0; index < CROWD; index++)
    codes.push(await getCode({ client_id: clients[index % 2]!.clientId }))

  const exchanged = await many(async (client, index) => exchangeAs(server, client, codes[index]!))
  expect(statusesOf(exchanged)).toEqual([200])

  const tokens = exchanged.map((answer) => answer.tokens)
  const [refreshed, known, active, issued] = await Promise.all([
    many(async (client, index) => refreshAs(server, client, tokens[index]!.refresh_token)),
    many(async (_, index) => statusOf(server.get('/userinfo', bearer(tokens[index]!.access_token)))),
    many(async (client, index) =>
      statusOf(server.post('/introspect', { token: tokens[index]!.access_token }, client.basic)),
    ),
    many(async () => statusOf(requestToken(server, clients[1]))),
  ])
  expect(statusesOf(refreshed)).toEqual([200])
  for (const statuses of [known, active, issued]) expect([...new Set(statuses)]).toEqual([200])
  expect(new Set(refreshed.map((answer) => answer.tokens.refresh_token)).size).toBe(CROWD)
})
