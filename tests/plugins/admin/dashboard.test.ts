/** The dashboard: what it counts, what it draws, and what it says to those who begin. */
import { expect, test } from 'vitest'
import { plotOf } from '../../../plugins/admin/activity-plot.ts'
import { startServer } from '../../support/server.ts'
import { SEED } from '../../support/sign-in.ts'
import type { Page } from '../../support/user-agent.ts'
import { ROOT, signedIn } from './administrator.ts'

const HOUR = 3_600_000
const server = await startServer({}, { seed: { users: [ROOT] } })
const agent = await signedIn(server)
const open = async (): Promise<Page> => agent.get(`${server.url}/admin`)

/** The numbers at the top, by what they count. */
function numbersOn({ body }: Page): Record<string, string> {
  const pairs = [...body.matchAll(/<dt>(?:<a [^>]*>)?([^<]*)(?:<\/a>)?<\/dt>\n<dd>([^<]*)<\/dd>\n<\/div>/g)]
  return Object.fromEntries(pairs.map(([, text, value]) => [text!, value!]))
}

test('who begins is told what to do first, until it is done', async () => {
  const page = await open()
  expect([page.status, page.url]).toEqual([200, `${server.url}/admin`])
  expect(page.body).toContain('First steps')
  expect(page.body).toContain('href="/admin/clients/new"')
  await server.server.oauth.clients.create({ client_id: 'first', scope: ['a'] })
  expect((await open()).body).toMatch(/<li class="done">Register the first app/)
  await server.server.oauth.users.create({ username: 'second' })
  expect((await open()).body).not.toContain('First steps')
})

test('it counts what there is, up to 10 000', async () => {
  expect(numbersOn(await open())).toMatchObject({ Users: '2', Clients: '1', 'Open sessions': '1' })
  await server.database.query(`insert into users (id, username, username_key) select gen_random_uuid(), 'u' || n, 'u' || n from generate_series(1, 10050) n`)
  await server.database.query(`insert into sessions (hash, sid, user_id, authenticated_at, amr, expires_at, ends_at)
    select 'dead-' || n, gen_random_uuid(), (select id from users limit 1), now(), '{}', now() - interval '1 minute', now() from generate_series(1, 5) n`)
  expect(numbersOn(await open())).toMatchObject({ Users: '10,000+', 'Open sessions': '1' })
}) // prettier-ignore

test('it draws the last day, and has the same numbers as a table', async () => {
  const hour = new Date(Math.floor(Date.now() / HOUR) * HOUR - 2 * HOUR)
  await server.database.query(
    `insert into activity (hour, type, writer, count) values
      ('${hour.toISOString()}', 'token.issued', gen_random_uuid(), 1200), ('${hour.toISOString()}', 'token.issued', gen_random_uuid(), 34),
      ('${hour.toISOString()}', 'user.sign_in_failed', gen_random_uuid(), 2), ('${hour.toISOString()}', 'client.authentication_failed', gen_random_uuid(), 3)`,
  )
  const page = await open()
  expect(numbersOn(page)).toMatchObject({ 'Failures in 24 h': '5', 'Tokens in 24 h': '1,234' })
  expect(page.body).toContain('<desc id="tokens-desc">1,234 in the last 24 hours')
  const row = new RegExp(`<time datetime="${hour.toISOString()}">[^<]*</time></th><td>\\d+</td><td>5</td><td>1234</td>`)
  expect(page.body).toMatch(row)
  expect(page.body.match(/<th scope="row"><time/g)).toHaveLength(24)
  expect(page.body).toMatch(/<rect x="211" y="0" width="8" height="40"\/>/)
  // But for the one of every page, which is a file.
  expect(page.body).not.toMatch(/ style=|<script(?! src="\/assets\/(?:once|times)[^"]*" defer><\/script>)/)
}) // prettier-ignore

test('the latest events and the health of the process are on it', async () => {
  const { body } = await open()
  expect(body).toContain('<strong>User registered</strong>')
  expect(body).toMatch(/answers in \d+ ms/)
  expect(body).toMatch(/ES256<\/bdi> since today/)
  expect(body).toMatch(/<dd><bdi>\d{14}_\w+<\/bdi><\/dd>/)
  expect(body).not.toContain('Look at this')
})

test('an hour that is outside of the day is in no bar, and one of few has a bar that one sees', () => {
  const now = Date.parse('2026-11-21T16:30:00Z')
  const at = (hour: string, count: number) => ({ hour: Date.parse(hour), type: 'token.issued', count })
  const activity = [at('2026-11-20T16:00:00Z', 7), at('2026-11-20T17:00:00Z', 1), at('2026-11-21T16:00:00Z', 10_000)]
  const { hours, bands } = plotOf([...activity, { ...activity[1]!, type: 'made.up' }], now)
  expect([hours[0], hours.at(-1)]).toEqual([new Date('2026-11-20T17:00:00Z'), new Date('2026-11-21T16:00:00Z')])
  const { counts, total, bars, description } = bands.find(({ id }) => id === 'tokens')!
  expect([counts[0], counts.at(-1), total]).toEqual([1, 10_000, 10_001])
  expect(bars).toEqual([{ x: 1, y: 38.5, width: 8, height: 1.5 }, { x: 231, y: 0, width: 8, height: 40 }])
  expect(description).toMatchObject({ values: { busiest: '16:00' } })
  expect(bands[0]).toMatchObject({ bars: [], description: { text: 'None in the last 24 hours.' } })
}) // prettier-ignore

test('an empty database of a new server has a dashboard, and so has a full one', async () => {
  const seeded = await startServer({}, { seed: { ...SEED, users: [...SEED.users, ROOT] } })
  const page = await (await signedIn(seeded)).get(`${seeded.url}/admin`)
  expect([page.status, page.body.includes('First steps')]).toEqual([200, false])
})
