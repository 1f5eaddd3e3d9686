/**
 * Whether an account exists is not to be learned at sign-in: a known and an unknown name get one answer, for one and
 * the same work. How long it takes is measured by `bench/account-timing.ts`.
 */
import argon2 from 'argon2'
import { beforeAll, expect, test, vi } from 'vitest'
import { startServer } from '../support/server.ts'
import { SEED } from '../support/sign-in.ts'
import { openUsers } from '../support/users.ts'
import { LOGIN } from './forms.ts'

const server = await startServer({ LOG_LEVEL: 'info' }, { seed: SEED })
/** Of one length each; `bob` is disabled, `nil` has no password. */
const NAMES = ['bob', 'nil', 'non', 'BOB']

interface Refused {
  status: number
  headers: Record<string, string>
  body: string
}

/** Also as links carry it along. */
const ADDRESS = /(?:\/|%2F)interaction(?:\/|%2F)[\w-]{43}(?:\/login)?(?:\?request=|%3Frequest%3D)[\w.-]+/g

/**
 * What a wrong password gets, without what is another for everybody: token, date, the name that was typed, and the
 * address, which was made before and is as long as its request can be compressed.
 */
async function refused(username: string): Promise<Refused> {
  const { agent, action, fields } = await LOGIN.open(server)
  const { status, headers, body } = await agent.post(action, { ...fields, username, password: 'wrong' })
  const { date: _, 'content-length': length, ...rest } = Object.fromEntries(headers)
  const addresses = body.match(ADDRESS) ?? []
  expect(Number(length)).toBe(Buffer.byteLength(body))
  const neutral = body
    .replaceAll(/name="csrf_token" value="[^"]*"/g, 'TOKEN')
    .replaceAll(ADDRESS, 'INTERACTION')
    .replaceAll(`value="${username}"`, 'NAME')
  const comparable = Number(length) - addresses.join('').length
  return { status, headers: { ...rest, 'content-length': String(comparable) }, body: neutral }
}

beforeAll(async () => {
  const { users } = server.server.oauth
  await users.create({ username: 'nil' })
  await users.disable('bob')
})

test('the answer is the same: status, headers, page', async () => {
  const known = await refused('alice')
  expect([known.status, known.body.includes('NAME'), known.body.includes('TOKEN')]).toEqual([403, true, true])
  // The same length, so that also the length is the same.
  expect(await refused('alicf')).toEqual(known)
  const answers = await Promise.all(NAMES.map(refused))
  for (const answer of answers) expect(answer).toEqual(answers[0])
})

test('the work is the same: one comparison of passwords, and the same statements', async () => {
  const work = await Promise.all(['alice', 'alicf', ...NAMES].map(workOf))
  for (const one of work) expect(one).toEqual(work[0])
  expect(work[0]).toEqual({ compared: 1, asked: ['user-by-key'] })
})

/** What `authenticate` does for this name, counted where it is really done. */
async function workOf(username: string): Promise<{ compared: number; asked: string[] }> {
  const { users, database, hashed } = await openUsers(false, server.database)
  const asked: string[] = []
  const { query } = database
  Object.assign(database, {
    query: async (...given: Parameters<typeof query>) => {
      asked.push(given[0].name)
      return query(...given)
    },
  })
  const before = hashed()
  expect(await users.authenticate(username, 'wrong')).toBeNull()
  // The feed of changes is read by the clock.
  return { compared: hashed() - before, asked: asked.filter((name) => name.startsWith('user')) }
}

test('what an unknown name is compared with costs what a stored password costs', async () => {
  const compared = vi.spyOn(argon2, 'verify')
  await refused('alice')
  await refused('alicf')
  const parameters = compared.mock.calls.map(([hash]) => hash.split('$').slice(0, 4))
  compared.mockRestore()
  expect(parameters).toHaveLength(2)
  expect(parameters[1]).toEqual(parameters[0])
})

test('neither the log nor the count of failures tells them apart', async () => {
  const lines = async (username: string): Promise<string[]> => {
    const from = server.output().length
    await refused(username)
    const written = server.output().slice(from).trim().split('\n')
    return written.map((line) => {
      const { level, msg, error, description } = JSON.parse(line) as Record<string, unknown>
      return JSON.stringify({ level, msg, error, description })
    })
  }
  expect(await lines('alice')).toEqual(await lines('alicf'))
  const rows = JSON.stringify(await server.database.query('select * from throttles'))
  for (const text of [rows, server.output()]) expect(text).not.toContain('alic')
})
