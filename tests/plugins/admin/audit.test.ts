/** The audit log on its page: what happened, in words, found by every filter, and taken along as a file. */
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { exported } from '../../../plugins/admin/audit/audit-export.ts'
import { toldBy, wordsOf } from '../../../plugins/admin/audit/audit-words.ts'
import type { AuditEvent } from '../../../src/events.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, getTokens, SEED } from '../../support/sign-in.ts'
import { until } from '../../support/until.ts'
import { createUserAgent, findForm, type Page } from '../../support/user-agent.ts'
import { ROOT, signedIn } from './administrator.ts'

const server = await startServer({}, { seed: { ...SEED, users: [...SEED.users, ROOT] }, makesKeys: true })
const { oauth } = server.server
const { audit: trail } = kernelOf(server.server)
const [alice, root] = [(await oauth.users.find('alice'))!.id, (await oauth.users.find('root'))!.id]
const agent = await signedIn(server)
await getTokens(server, { scope: 'openid read_books' })
// What is observed is stored behind the request.
await until(async () => {
  const { events } = await oauth.audit.list({ type: 'token.issued' })
  if (events.length === 0) throw new Error('not yet')
})

const open = async (query: Record<string, string> = {}): Promise<Page> =>
  agent.get(`${server.url}/admin/audit?${new URLSearchParams(query).toString()}`)
/** The rows of a page as plain text. */
const rowsOf = ({ body }: Page): string[] =>
  [...body.matchAll(/<tr>\n<td><time[\s\S]*?<\/details>[\s\S]*?<\/tr>/g)].map(([row]) =>
    row
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  )
const followed = ({ body, url }: Page, pattern: RegExp): string =>
  new URL(pattern.exec(body)![1]!.replaceAll('&amp;', '&'), url).href

test('tells who did what, about whom, when and from where', async () => {
  const rows = rowsOf(await open())
  const issued = rows.find((row) => row.includes('Token issued'))!
  expect(issued).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d Token issued authorization_code .* web alice 127\.0\.0\.1$/)
  expect(rows.find((row) => row.includes('Consent given'))).toMatch(/openid read_books .* alice web 127\.0\.0\.1$/)
  expect(rows.find((row) => row.includes('Signing key made'))).toMatch(/(?:ES256|RS256) .* The server$/)
  const { body } = await open({ type: 'client.registered' })
  expect(body).toContain('<tr><th scope="row"><code>redirect_uris</code></th><td data-label="Before"><bdi>–</bdi></td><td data-label="After"><bdi>https://app.example/callback</bdi></td></tr>')
  expect(body).toContain('href="/admin/client?client_id=web"')
  expect(body).toContain('Events are kept for 365 days.')
  expect(body).toMatch(/<time datetime="\d{4}-[^"]*Z">/)
}) // prettier-ignore

/** The tables of what the server tells, as they are written. */
async function readEvents(): Promise<string> {
  const folder = new URL('../../../src/events/', import.meta.url)
  const files = await readdir(folder)
  return (await Promise.all(files.map(async (file) => readFile(new URL(file, folder), 'utf8')))).join('\n')
}

test('every type of event has words of its own', async () => {
  const source = await readEvents()
  const types = [...source.matchAll(/^ {2}'([a-z_.]+)':/gm)].map(([, type]) => type!)
  expect(types.length).toBeGreaterThan(20)
  expect(types.filter((type) => wordsOf(type) === type)).toEqual([])
})

test('what the server noted in a word of its own is said in the language of the page', async () => {
  const source = await readEvents()
  const ours = [...source.matchAll(/readonly (link|reason)\??: ('[^\n]*?)\s*\}/g)].flatMap(
    ([, name, values]) => [...values!.matchAll(/'([^']*)'/g)].map(([, value]) => ({ [name!]: value })),
  )
  expect(ours.length).toBeGreaterThan(10)
  const noted = [...ours, { factor: 'authenticator' }, { factor: 'recovery-codes' }]
  const raw = noted.filter((details) => typeof toldBy({ type: 'x', details } as never).summary === 'string')
  expect(raw).toEqual([])
  expect(toldBy({ type: 'x', details: { link: 'of a plugin' } } as never).summary).toBe('of a plugin')
})

test.each([
  [{ type: 'consent.given' }, 1, 'Consent given'],
  [{ user: 'alice', type: 'user.signed_in' }, 1, 'Signed in'],
  [{ user: 'ALICE', type: 'user.signed_in' }, 1, 'Signed in'],
  [{ user: alice, type: 'token.issued' }, 1, 'Token issued'],
  [{ user: root, type: 'token.issued' }, 0, ''],
  [{ client_id: 'web', type: 'consent.given' }, 1, 'Consent given'],
  [{ client_id: 'nobody' }, 0, ''],
  [{ request_id: 'no-such-request' }, 0, ''],
  [{ type: 'consent.given', from: '2020-01-01', to: '2099-12-31' }, 1, 'Consent given'],
  [{ from: '2099-01-01' }, 0, ''],
  [{ to: '2020-01-01' }, 0, ''],
  [{ type: 'made.up' }, 0, ''],
])('the filter %j finds %i', async (query, count, what) => {
  const page = await open(query)
  const rows = rowsOf(page)
  expect([page.status, rows.length]).toEqual([200, count])
  for (const row of rows) expect(row).toContain(what)
  expect(page.body.includes('Nothing was found.')).toBe(count === 0)
  expect(findForm(page, 'filter')!.fields).toMatchObject(query)
})

test('a day of today is within its bounds, and the id of a request leads to what it did', async () => {
  const today = new Date().toISOString().slice(0, 10)
  expect(rowsOf(await open({ type: 'consent.given', from: today, to: today }))).toHaveLength(1)
  const request = followed(await open({ type: 'consent.given' }), /<dd><a href="([^"]*request_id=[^"]*)"/)
  expect(rowsOf(await agent.get(request)).some((row) => row.includes('Consent given'))).toBe(true)
})

test.each([
  [{ from: 'yesterday' }, 'from', 'This is not a day'],
  [{ to: '2026-02-30' }, 'to', 'This is not a day'],
  [{ user: 'nobody' }, 'user', 'No user has this name.'],
  [{ user: '"><b>' }, 'user', 'No user has this name.'],
])('what cannot be looked for is said at its field: %j', async (query, field, message) => {
  const page = await open(query)
  expect(page.status).toBe(400)
  expect(page.body).toMatch(new RegExp(`id="${field}-error">${message}`))
  expect(page.body).not.toContain('<b>')
  expect(findForm(page, 'filter')!.fields).toMatchObject(query)
  const file = await agent.get(page.url.replace('/audit?', '/audit/export?format=csv&'))
  expect(file.status).toBe(400)
})

const FORMULAS = ['=1+1', '+1', '-1', '@SUM(A1)', '\tx', 'a"b,c\nd']
const MANY = 12_000

test('the pages go on to the end, and show every event once', async () => {
  await trail.transaction(async (_query, note) => {
    for (let at = 0; at < 120; at++) note({ type: 'client.changed', client: `paged-${at}`, details: { changes: {} } })
  })
  const seen = new Set<string>()
  let page = await open({ type: 'client.changed' })
  for (;;) {
    for (const row of rowsOf(page)) seen.add(/paged-\d+/.exec(row)![0])
    if (!page.body.includes('rel="next"')) break
    page = await agent.get(followed(page, /rel="next" href="([^"]*)"/))
  }
  expect(seen.size).toBe(120)
  expect((await agent.get(followed(page, /href="([^"]*)">Newest</))).url).toContain('type=client.changed')
}) // prettier-ignore

test('a search that has looked at enough says how far it got, and goes on when asked', async () => {
  await server.database.query(`insert into audit_events (id, at, type, actor_kind, client_id, details)
    select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
      now(), 'token.issued', 'server', 'busy', '{}' from generate_series(1, ${MANY}) n`)
  await trail.transaction(async (_query, note) =>
    note({ type: 'consent.denied', user: alice, client: 'busy', details: {} }),
  )
  const page = await open({ client_id: 'busy', type: 'consent.denied' })
  expect(rowsOf(page)).toHaveLength(1)
  expect(page.body).toContain('id="searched-to"')
  const on = await agent.get(followed(page, /rel="next" href="([^"]*)"/))
  expect([rowsOf(on).length, on.body.includes('Continue searching')]).toEqual([0, true])
  expect(on.body).not.toContain('Nothing was found.')
})

test('an export has all that matches, in either form, however long', async () => {
  const page = await open({ client_id: 'busy' })
  const csv = await agent.get(followed(page, /id="csv" href="([^"]*)"/))
  expect([csv.status, csv.headers.get('content-type'), csv.headers.get('cache-control')]).toEqual([200, 'text/csv; charset=utf-8; header=present', 'no-store'])
  expect(csv.headers.get('content-disposition')).toMatch(/^attachment; filename="audit-\d{4}-\d\d-\d\d\.csv"$/)
  const lines = csv.body.split('\r\n')
  expect(lines[0]).toBe('"time","type","count","actor_kind","actor_id","user_id","client_id","address","request_id","id","details"')
  expect(lines.length).toBe(MANY + 3)
  const jsonl = await agent.get(followed(page, /id="jsonl" href="([^"]*)"/))
  const events = jsonl.body.trimEnd().split('\n').map((line) => JSON.parse(line) as AuditEvent)
  expect(new Set(events.map(({ id }) => id)).size).toBe(MANY + 1)
  expect(events[0]).toMatchObject({ type: 'consent.denied', user: alice, client: 'busy' })
  expect(jsonl.headers.get('content-disposition')).toContain('.jsonl"')
}) // prettier-ignore

test('no cell of an export is a formula, and each is one cell', async () => {
  for (const client of FORMULAS)
    await trail.transaction(async (_query, note) =>
      note({ type: 'user.enabled', client, details: { note: client } }),
    )
  const { body } = await agent.get(`${server.url}/admin/audit/export?format=csv&type=user.enabled`)
  const cells = [...body.matchAll(/"((?:[^"]|"")*)"(?:,|\r\n)/g)].map(([, cell]) =>
    cell!.replaceAll('""', '"'),
  )
  expect(cells.length).toBe(11 * (FORMULAS.length + 1))
  expect(cells.filter((cell) => /^[=+\-@\t\r]/.test(cell))).toEqual([])
  for (const formula of FORMULAS.slice(0, 5)) expect(cells).toContain(`'${formula}`)
  expect(cells).toContain('a"b,c\nd')
})

test('an export reads no further ahead than a page of what is taken from it', async () => {
  let pages = 0
  const event = { id: 'x', type: 'scope.deleted', at: 0, details: {}, actor: { kind: 'server', id: null } }
  const list = async () => ({ events: [event as unknown as AuditEvent], next: `${++pages}` })
  const stream = exported({ list }, {}, await list(), 'jsonl')
  await once(stream, 'readable')
  for (let turn = 0; turn < 1000; turn++) await Promise.resolve()
  const before = pages
  expect(before).toBeLessThanOrEqual(3)
  for (let taken = 0; taken < 20; taken++) if (stream.read() === null) await once(stream, 'readable')
  expect(pages).toBeGreaterThan(before)
  expect(pages).toBeLessThanOrEqual(before + 20)
  stream.destroy()
})

test('a format that there is not is refused; neither page nor file is for others', async () => {
  for (const query of ['', '?format=xml'])
    expect((await agent.get(`${server.url}/admin/audit/export${query}`)).status).toBe(400)
  const other = await signedIn(server, ALICE)
  for (const path of ['/admin/audit', '/admin/audit/export?format=csv'])
    expect((await other.get(`${server.url}${path}`)).status).toBe(403)
  const stranger = await createUserAgent(server.url).get(`${server.url}/admin/audit/export?format=csv`)
  expect(stranger.body).toContain('id="login"')
})
