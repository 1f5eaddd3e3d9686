/** A directory locks whose password is guessed at: nobody has it do that to somebody else from here. @needs latchkey-ldap */
import { beforeEach, expect, test } from 'vitest'
import { type Answer, done, entry, startLyingDirectory } from '../../support/lying-directory.ts'
import { startBeside, startServer } from '../../support/server.ts'
import { ALICE, authorizationUrl, BOB, goThrough, SEED } from '../../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../../support/user-agent.ts'

const BASE = 'dc=example,dc=org'
const RIGHT = 'analytical engine'
const WRONG = 'difference engine'
/** By the uid of whose it was. */
let binds: string[] = []
/** It closes each connection then. */
let isAway = false
/** What it answers a bind, whosever password it is. */
let atBind: Answer | undefined
beforeEach(() => {
  binds = []
  isAway = false
  atBind = undefined
})

const PEOPLE = ['ada', 'bea', 'cleo', 'dora', 'edda', 'fay', 'gil', 'hal', 'ida', 'jon']
const { url } = await startLyingDirectory((question) => {
  if (isAway) return []
  const uid = PEOPLE.find((one) => question.text.includes(one))
  if (question.operation === 'search') {
    const attributes = { uid: uid!, cn: uid!, mail: `${uid}@mail.example`, entryUUID: `id-of-${uid}` }
    const found = uid === undefined ? [] : [entry(question, `uid=${uid},${BASE}`, attributes)]
    return [...found, done(question)]
  }
  binds.push(uid!)
  return atBind?.(question) ?? [done(question, question.text.includes(RIGHT) ? 0 : 49)]
})
const one = await startServer(
  {
    LDAP_URL: url,
    LDAP_START_TLS: 'false',
    LDAP_BASE_DN: BASE,
    TRUSTED_PROXIES: '127.0.0.1',
    OIDC_PASSWORD_HASH_MEMORY: 1024,
  },
  { seed: SEED },
)
const processes = [one, await startBeside(one)]

let networks = 0
const stranger = (): UserAgent =>
  createUserAgent(one.url, { 'x-forwarded-for': `198.51.100.${++networks % 250}` })

/** The status, and 303 for who is in. */
async function trying(username: string, password: string, agent = stranger()): Promise<number> {
  const login = await agent.get(authorizationUrl(one, { prompt: 'login' }))
  const page = await agent.submit(login, 'login', { username, password })
  return page.status >= 400 ? page.status : (await goThrough(agent, page)).status
}

/** By a browser that nobody is known by, in one of the processes. */
async function guess(username: string, at: number): Promise<unknown> {
  const source = processes[at % 2]!.server.oauth.owners('passwordSource').get('ldap')!
  return source.check({ username, password: WRONG }, { markOf: async () => null })
}

test('after five nothing reaches the directory any more, of somebody’s name as of nobody’s', async () => {
  for (const name of ['ada', 'nobody']) {
    const statuses: number[] = []
    for (let at = 0; at < 7; at++) statuses.push(await trying(name, WRONG))
    expect(statuses).toEqual([403, 403, 403, 403, 403, 429, 429])
  }
  expect(await trying('ada', RIGHT)).toBe(429)
  expect(binds).toEqual(['ada', 'ada', 'ada', 'ada', 'ada'])
})

test('a few dozen at once at two processes are five', async () => {
  const guesses = await Promise.allSettled(Array.from({ length: 24 }, async (_, at) => guess('bea', at)))
  const answered = guesses.filter(({ status }) => status === 'fulfilled')
  expect([answered.length, binds.length]).toEqual([5, 5])
  await expect(guess('bea', 0)).rejects.toMatchObject({ status: 429 })
})

test('another name of theirs gives no more, and does not say whose it is', async () => {
  for (let at = 0; at < 5; at++) expect(await trying('cleo', WRONG)).toBe(403)
  for (let at = 0; at < 5; at++) expect(await trying('cleo@mail.example', WRONG)).toBe(403)
  expect(await trying('cleo@mail.example', WRONG)).toBe(429)
  expect(binds).toHaveLength(5)
})

test('a browser in which they have signed in before gets in meanwhile, and has no more by itself', async () => {
  const own = stranger()
  expect(await trying('dora', RIGHT, own)).toBe(303)
  for (let at = 0; at < 6; at++) await trying('dora', WRONG)
  expect(await trying('dora', RIGHT)).toBe(429)
  expect(await trying('dora', RIGHT, own)).toBe(303)
  // The directory has forgotten the others by that, and so has it here.
  expect(await trying('dora', RIGHT)).toBe(303)
  binds = []
  for (let at = 0; at < 7; at++) await trying('dora', WRONG, own)
  expect(binds).toHaveLength(5)
})

test('a browser in which somebody signs in who is called so here, and is not that of the directory, gives no more', async () => {
  await one.server.oauth.users.create({ username: 'gil', password: 'a password of our own' })
  const own = stranger()
  for (let at = 0; at < 3; at++) {
    expect(await trying('gil', 'a password of our own', own)).toBe(303)
    for (let guessed = 0; guessed < 3; guessed++) await trying('gil', WRONG, own)
  }
  expect(binds).toHaveLength(5)
})

test('whoever is right has all their guesses again, as in the directory', async () => {
  for (const password of [WRONG, WRONG, WRONG, WRONG, RIGHT, WRONG, WRONG, WRONG, WRONG])
    expect(await trying('edda', password)).toBe(password === RIGHT ? 303 : 403)
  expect(binds).toHaveLength(9)
})

test('what the directory never heard counts nothing', async () => {
  isAway = true
  for (let at = 0; at < 7; at++) expect(await trying('fay', RIGHT)).toBe(503)
  isAway = false
  await expect.poll(async () => trying('fay', RIGHT)).toBe(303)
})

test('while it is away the network of those who try is not at its limit for that, and each of their names is', async () => {
  const here = stranger()
  isAway = true
  for (let at = 0; at < 41; at++) expect(await trying(`somebody-${at}`, RIGHT, here)).toBe(503)
  // They are counted of it all the same, for a wider limit: it may be one password on many accounts.
  const unanswered = await one.database.query(
    `select count(*)::int as n from throttles where account <> '*' group by source order by n desc limit 1`,
  )
  expect(unanswered).toEqual([{ n: 42 }])
  let status = 503
  while (status === 503) status = await trying(BOB.username, WRONG, here)
  expect(status).toBe(429)
  expect(await trying(ALICE.username, ALICE.password, here)).toBe(303)
})

test.each<[string, string, Answer]>([
  ['is busy', 'hal', (question) => [done(question, 51)]],
  ['is unavailable', 'ida', (question) => [done(question, 52)]],
  ['closes the connection', 'jon', () => []],
])('where it %s, a password that it has not judged counts nothing', async (_how, name, answer) => {
  for (let at = 0; at < 3; at++) expect(await trying(name, WRONG)).toBe(403)
  atBind = answer
  for (let at = 0; at < 7; at++) expect(await trying(name, RIGHT)).toBe(503)
  expect(binds).toHaveLength(10)
  atBind = undefined
  for (let at = 0; at < 2; at++) expect(await trying(name, WRONG)).toBe(403)
  expect(await trying(name, WRONG)).toBe(429)
  expect(binds).toHaveLength(12)
})

test('the domain before a name is no part of it, where that is the one of LDAP_DOMAIN', async () => {
  const { server } = await startBeside(one, { LDAP_DOMAIN: 'CORP' })
  const source = server.oauth.owners('passwordSource').get('ldap')!
  const check = async (username: string, password: string) =>
    source.check({ username, password }, { markOf: async () => null })
  const { id } = (await one.server.oauth.users.find('edda'))!
  for (const name of ['CORP\\edda', ' corp\\edda ', 'edda'])
    expect(await check(name, RIGHT)).toMatchObject({ user: { id } })
  for (const name of ['OTHER\\edda', 'CORPedda', 'CORP\\', 'CORP\\CORP\\edda', 'CORP/edda'])
    expect(await check(name, RIGHT)).toBeNull()
  expect(await server.ldap.directory.find('Corp\\edda')).toMatchObject({ username: 'edda' })
  // As many guesses by both spellings as by one.
  for (const name of ['edda', 'CORP\\edda', 'edda', 'corp\\edda', 'edda'])
    expect(await check(name, WRONG)).toBeNull()
  await expect(check('CORP\\edda', WRONG)).rejects.toMatchObject({ status: 429 })
})
