/** What could not be delivered: administrators see why, and have it tried again. */
import { expect, test } from 'vitest'
import { Type } from '../../../src/protocol/schema.ts'
import { startServer } from '../../support/server.ts'
import { SEED } from '../../support/sign-in.ts'
import { ROOT, signedIn } from './administrator.ts'

let away = true
const delivered: string[] = []
const server = await startServer(
  {},
  {
    seed: { ...SEED, users: [...SEED.users, ROOT] },
    extend: ({ oauth }) =>
      oauth.deliver({
        kind: 'news',
        payload: Type.Object({ text: Type.String() }),
        async deliver({ text }) {
          if (away) throw new Error('it answered with <b>503</b>')
          delivered.push(text)
        },
      }),
  },
)
const { oauth } = server.server
const { query } = server.database
const agent = await signedIn(server)
const open = async (path = '') => agent.get(`${server.url}/admin/deliveries${path}`)

/** Enqueued a day ago, and given up. */
async function giveUp(...texts: string[]): Promise<void> {
  away = true
  for (const text of texts) await oauth.enqueue('news', { text })
  const tried = async () => (await query('select from outbox where last_error is null')).length
  await expect.poll(tried).toBe(0)
  await query(`update outbox set tries_until = now(), given_up_at = now()`)
}

test('with nothing given up the page says so', async () => {
  const { status, body } = await open()
  expect(status).toBe(200)
  expect(body).toContain('None was given up.')
  expect(body).toContain('None is waiting.')
})

test('one that nobody could try says so', async () => {
  await query(`insert into outbox (id, kind, payload, tries_until, given_up_at)
    values (gen_random_uuid(), 'unknown', 'sealed', now(), now())`)
  expect((await open()).body).toMatch(/Asked for [^,]*<time[^,]*[^<]*<\/time>, never tried, given up /)
  await query(`delete from outbox where kind = 'unknown'`)
})

test('what was given up stands there with its reason, and is tried again', async () => {
  await giveUp('hello')
  const page = await open()
  expect(page.body).toContain('it answered with &lt;b&gt;503&lt;/b&gt;')
  expect(page.body).toContain('<code>news</code>')
  expect(page.body).not.toContain('hello')
  away = false
  const after = await agent.submit(page, 'retry-0')
  expect([after.status, after.body]).toEqual([200, expect.stringContaining('It is tried again')])
  await expect.poll(() => delivered).toEqual(['hello'])
  const [event] = (await oauth.audit.list({ type: 'delivery.retried' })).events
  expect(event).toMatchObject({ actor: { kind: 'user' }, details: { kind: 'news' } })
  // Sent once more, it finds what was wanted.
  expect((await agent.submit(page, 'retry-0')).status).toBe(200)
  expect(delivered).toEqual(['hello'])
})

test('all of them at once', async () => {
  delivered.length = 0
  await giveUp('one', 'two', 'three')
  const page = await open()
  away = false
  await agent.submit(page, 'retry-all')
  await expect.poll(() => delivered.toSorted()).toEqual(['one', 'three', 'two'])
})

test('the list goes on from page to page', async () => {
  await query(`insert into outbox (id, kind, payload, tries_until, given_up_at)
    select gen_random_uuid(), 'gone', 'sealed', now(), now() from generate_series(1, 70)`)
  const first = await open()
  expect(first.body.match(/Try again</g)).toHaveLength(50)
  expect(first.body).toContain('is a plugin missing?')
  const next = /rel="next" href="([^"]*)"/.exec(first.body)![1]!.replaceAll('&amp;', '&')
  expect((await agent.get(new URL(next, first.url).href)).body.match(/Try again</g)).toHaveLength(20)
})
