/** The browsers of a user: how they are told apart, and what ends with one. */
import { beforeEach, expect, test } from 'vitest'
import { startServer } from '../../support/server.ts'
import { ALICE, getTokens, refresh, SEED } from '../../support/sign-in.ts'
import { findForm, type UserAgent } from '../../support/user-agent.ts'
import { eventsOf, open, signedIn } from './owner.ts'

const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0'
const PHONE = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1' // prettier-ignore
const server = await startServer({}, { seed: SEED })
const { sessions, users } = server.server.oauth
const { id } = (await users.find('alice'))!
let agent: UserAgent
let phone: UserAgent

beforeEach(async () => {
  await sessions.endAll(id)
  agent = await signedIn(server, ALICE, { 'user-agent': FIREFOX })
  phone = await signedIn(server, ALICE, { 'user-agent': PHONE })
})

test('are shown by browser, system and address, this one first and without a way to end it', async () => {
  const page = await open(server, agent, '/sessions')
  const titles = [...page.body.matchAll(/<h2>([^<]*)(?:<span[^>]*>([^<]*)<)?/g)].map(([, title, tag]) => [title!.trim(), tag])
  expect(titles).toEqual([['Firefox on Windows', 'This browser'], ['Safari on iPhone', undefined]])
  expect(page.body.match(/127\.0\.0\.1<\/bdi>\. /g)).toHaveLength(2)
  expect([findForm(page, 'end-0'), findForm(page, 'end-1')]).toEqual([undefined, expect.anything()])
}) // prettier-ignore

test('one is signed out, with the tokens that came of it', async () => {
  const { refresh_token: here } = await getTokens(server, {}, agent)
  const { refresh_token: there } = await getTokens(server, {}, phone)
  const page = await agent.submit(await open(server, agent, '/sessions'), 'end-1')
  expect([page.url, page.body]).toEqual([
    `${server.url}/account/sessions?done=one`,
    expect.stringContaining('That browser is signed out'),
  ])
  expect(findForm(page, 'end-others')).toBeUndefined()
  expect((await open(server, phone)).url).toContain('/sign-in?')
  expect([(await refresh(server, there)).status, (await refresh(server, here)).status]).toEqual([400, 200])
  expect((await eventsOf(server, 'session.ended'))[0]).toMatchObject({
    user: id,
    actor: { kind: 'user', id },
  })
})

test('all others are signed out at once; a form that was sent twice does no harm', async () => {
  const { refresh_token: there } = await getTokens(server, {}, phone)
  const before = await open(server, agent, '/sessions')
  const page = await agent.submit(before, 'end-others')
  expect(page.body).toContain('Every other browser is signed out')
  expect((await open(server, phone)).url).toContain('/sign-in?')
  expect((await refresh(server, there)).status).toBe(400)
  for (const form of ['end-others', 'end-1']) expect((await agent.submit(before, form)).status).toBe(200)
  expect(await sessions.list(id)).toHaveLength(1)
  expect((await eventsOf(server, 'session.ended'))[0]).toMatchObject({
    user: id,
    actor: { kind: 'user', id },
  })
})
