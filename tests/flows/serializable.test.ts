/**
 * Two processes on a database whose transactions are serializable, where PostgreSQL refuses what it pleases: each kind of
 * request once, reads and commits too, and then some of all that write. Nobody outside notices.
 */
import { expect, test } from 'vitest'
import { BOOKS_SEED } from '../support/books.ts'
import { ALIVE, codesOf, exchangeAs, lifeOf, refreshAs } from '../support/code-flow.ts'
import { createDatabase } from '../support/database.ts'
import { startRefusingProxy } from '../support/refusing-proxy.ts'
import { countRefusals } from '../support/serializable.ts'
import { toClient } from '../support/service.ts'
import { HASHING_SLOWLY } from '../support/settings.ts'
import { setStage } from '../support/stage.ts'

const CROWD = 12
/** Some of what must have been refused while clients are at work: the hot path's statements, and what stands around them. */
const REFUSED_AT_WORK = [
  'begin', 'commit', 'authorization-code-insert', 'authorization-code-find', 'authorization-code-exchange',
  'authorization-code-exchange-opaque', 'refresh-token-find', 'refresh-token-rotate', 'refresh-token-rotate-opaque',
  'access-token-insert', 'access-token-find', 'authorization-revoke',
  'session-start', 'session-find', 'sessions-end-one', 'changes-since', 'audit-events-insert', 'throttles-blocked',
] // prettier-ignore
/** The same, of what is asked when the books are read. */
const REFUSED_AFTERWARDS = ['granted-token-find', 'authorization-find']

const database = await createDatabase({ serializable: true })
const proxy = await startRefusingProxy(database.url)

test('everybody at work on a serializable database: every answer is right, and the books balance', async () => {
  const { servers, desk, books, close } = await setStage(proxy.url, {
    database,
    settings: HASHING_SLOWLY,
  })
  // Until each kind was refused: which comes when is chance.
  const open = (kinds: readonly string[]): string[] => kinds.filter((kind) => !proxy.refused.has(kind))
  const isOpen = (kinds: readonly string[]): boolean => open(kinds).length > 0
  for (let round = 0; round < 2 || (isOpen(REFUSED_AT_WORK) && round < 20); round++)
    await books.load.more(100)
  await books.load.stop()
  await books.assertKept()
  const [one, two] = servers
  const web = toClient(BOOKS_SEED.clients[0]!)
  const getCode = codesOf(one!, { client_id: web.clientId })
  for (let round = 0; isOpen(REFUSED_AFTERWARDS) && round < 20; round++) {
    const { tokens } = await exchangeAs(one!, web, await getCode())
    expect(await lifeOf(two!, web, tokens)).toEqual(ALIVE)
  }
  // A machine that is too busy is another matter.
  for (const { output } of [...servers, desk])
    expect(output().match(/^.*PostgreSQL refused: 40.*$/gm)).toBeNull()
  expect([...books.answers.keys()].filter((answer) => !/ (?:200|201|303|503)$/.test(answer))).toEqual([])
  expect(open([...REFUSED_AT_WORK, ...REFUSED_AFTERWARDS])).toEqual([])
  expect(await countRefusals(database.url)).toBeGreaterThan(20)

  const crowd = async <T>(ask: (server: typeof one & object) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: CROWD }, async (_, index) => ask(index % 2 === 0 ? one! : two!)))

  const code = await getCode()
  const exchanged = await crowd(async (server) => exchangeAs(server, web, code))
  const refusedWith = exchanged.flatMap(({ status, error }) => (status === 200 ? [] : [`${status} ${error}`]))
  expect(refusedWith).toEqual(Array.from({ length: CROWD - 1 }, () => '400 invalid_grant'))
  const { tokens } = await exchangeAs(one!, web, await getCode())
  const refreshed = await crowd(async (server) => refreshAs(server, web, tokens.refresh_token))
  expect(new Set(refreshed.map(({ status }) => status))).toEqual(new Set([200]))
  expect(new Set(refreshed.map((answer) => answer.tokens.refresh_token)).size).toBe(1)
  await close()
})
