/** `delivery list|retry`. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { commandsHere, runCommandHere } from '../support/command-here.ts'
import { createDatabase } from '../support/database.ts'

const database = await createDatabase()
const settings = { DATABASE_URL: database.url, SECRET_KEY: 'k'.repeat(40) }
const { run, runJson } = commandsHere(settings)

/** Given up so many minutes ago. */
async function giveUp(minutes: number): Promise<string> {
  const id = randomUUID()
  await database.query(
    `insert into outbox (id, kind, payload, attempts, last_error, tries_until, given_up_at)
     values ($1, 'news', 'sealed', 30, 'away', now() - make_interval(mins => $2), now())`,
    [id, minutes],
  )
  return id
}

test('list shows what was given up, the last first', async () => {
  expect(await runJson('delivery', 'list')).toEqual([])
  expect(await run('delivery', 'list')).toBe('No delivery was given up.\n')
  const [older, newer] = [await giveUp(20), await giveUp(10)]
  const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string
  const members = {
    kind: 'news',
    recipient: null,
    enqueued_at: instant,
    given_up_at: instant,
    attempts: 30,
    last_error: 'away',
  }
  expect(await runJson('delivery', 'list')).toEqual([
    { id: newer, ...members },
    { id: older, ...members },
  ])
  expect(await run('delivery', 'list', '--limit', '1')).toMatch(
    new RegExp(`^${newer}  news  given up .* after 30  away\n$`),
  )
})

test('retry gives one, or all, another day', async () => {
  const id = await giveUp(5)
  expect(await runJson('delivery', 'retry', id)).toEqual({ id, retried: 1 })
  expect(await runCommandHere(['delivery', 'retry', id], settings)).toMatchObject({
    status: 1,
    stderr: `No delivery ${id} was given up: \`delivery list\` has those that were.\n`,
  })
  const listed = (await runJson('delivery', 'list')) as unknown as unknown[]
  expect(await runJson('delivery', 'retry', '--all')).toEqual({ retried: listed.length })
  expect(await runJson('delivery', 'list')).toEqual([])
  const [{ waiting } = {}] = await database.query(
    `select count(*)::int as waiting from outbox where given_up_at is null and tries_until > now() + interval '23 hours'`,
  )
  expect(waiting).toBe(listed.length + 1)
})

test.each([[['retry']], [['retry', 'an-id', '--all']]])('%j: one of the two is needed', async (args) => {
  expect(await runCommandHere(['delivery', ...args], settings)).toMatchObject({
    status: 1,
    stderr: 'delivery retry needs an id, or --all.\n',
  })
})
