/** Two processes count failures together: whoever goes to the next one has no more guesses there. */
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { createClient } from '../support/clients.ts'
import { basic, type Requests } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { statusOf } from '../support/service.ts'

const FORM = { grant_type: 'client_credentials' }
/** Of the form of a generated secret, whose check is quick. */
const WRONG = `lks_${'x'.repeat(43)}`
const one = await startServer({ TRUSTED_PROXIES: '127.0.0.1' })
const two = await spawnBeside(one.settings, one.database)
const both = [one, two]

/** Guesses from an address, through a proxy. */
const guess = async (to: Requests, clientId: string, address: string) =>
  statusOf(to.post('/token', FORM, { ...basic(clientId, WRONG), 'x-forwarded-for': address }))

test('guesses by turns at two processes end after 20', async () => {
  const { clientId } = await createClient(one, { scope: ['read'] })
  const statuses: number[] = []
  for (let at = 0; at < 24; at++) statuses.push(await guess(both[at % 2]!, clientId, '198.51.100.1'))
  expect(statuses).toEqual([...Array<number>(20).fill(401), ...Array<number>(4).fill(429)])
})

test('a hundred guesses at once at two processes are 20', async () => {
  const { clientId } = await createClient(one, { scope: ['read'] })
  const guesses = Array.from({ length: 100 }, async (_, at) => guess(both[at % 2]!, clientId, '198.51.100.2'))
  const statuses = await Promise.all(guesses)
  expect(statuses.filter((status) => status === 401)).toHaveLength(20)
  expect(statuses.filter((status) => status === 429)).toHaveLength(80)
})

test('the right secret is refused soon by a process that has seen no failure', async () => {
  const { clientId, basic: right } = await createClient(one, { scope: ['read'] })
  const headers = { ...right, 'x-forwarded-for': '198.51.100.3' }
  expect(await statusOf(two.post('/token', FORM, headers))).toBe(200)
  while ((await guess(one, clientId, '198.51.100.3')) === 401);
  await expect.poll(() => statusOf(two.post('/token', FORM, headers)), { interval: 25 }).toBe(429)
})
