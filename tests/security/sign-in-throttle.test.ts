/** Guessing passwords from many addresses, in many processes, all at once; the first steps are in flows/sign-in-throttle. */
import { describe, expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { startServer } from '../support/server.ts'
import { ALICE, BOB, SEED } from '../support/sign-in.ts'
import { createUserAgent, type Page } from '../support/user-agent.ts'
import { LOGIN, type OpenForm } from './forms.ts'

const one = await startServer({ TRUSTED_PROXIES: '127.0.0.1' }, { seed: SEED })
const two = await spawnBeside(one.settings, one.database)
const ports = [one.settings.PORT, two.settings.PORT].map(String)

let addresses = 0
/** A login form, opened through our proxy from an address of its own. */
async function openFrom(address = `198.51.100.${++addresses}`): Promise<OpenForm> {
  return LOGIN.open(one, createUserAgent(one.url, { 'x-forwarded-for': address }))
}

const guess = async (
  { agent, action, fields }: OpenForm,
  password: string,
  at = 0,
  { username }: { username: string } = ALICE,
): Promise<Page> => agent.post(action.replace(/:\d+\//, `:${ports[at]}/`), { ...fields, username, password })

describe('an address that has guessed too often', () => {
  test('gets the page that says so and when to come back, also with the right password', async () => {
    const form = await openFrom()
    let guesses = 0
    let page = await guess(form, 'wrong')
    for (; page.status === 403 && guesses < 100; guesses++) page = await guess(form, 'wrong')
    expect(guesses).toBeGreaterThanOrEqual(10)
    expect(guesses).toBeLessThanOrEqual(60)
    const elsewhere = [await guess(form, 'wrong', 1), await guess(form, ALICE.password, 1)]
    for (const refused of [page, await guess(form, ALICE.password), ...elsewhere]) {
      expect([refused.status, refused.body]).toEqual([429, expect.stringContaining('id="login-wait"')])
      expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d{0,2}$/)
      expect(refused.headers.getSetCookie()).toEqual([])
    }
    // From elsewhere the owner gets in.
    expect((await guess(await openFrom(), ALICE.password)).status).toBeLessThan(400)
  })

  test('is not let in by a name in another spelling, or another header', async () => {
    const form = await openFrom('203.0.113.9')
    while ((await guess(form, 'wrong')).status === 403);
    for (const username of ['ALICE', ' alice', 'alice ', '\uff41lice'.replace('\uff41', 'a')]) {
      const sent = { ...form.fields, username, password: ALICE.password }
      expect((await form.agent.post(form.action, sent)).status).toBe(429)
      const headers = {
        'x-real-ip': '198.51.100.77',
        forwarded: 'for=198.51.100.77',
        'client-ip': '198.51.100.77',
      }
      expect((await form.agent.post(form.action, sent, headers)).status).toBe(429)
      const forged = { 'x-forwarded-for': '198.51.100.77, 203.0.113.9' }
      expect((await form.agent.post(form.action, sent, forged)).status).toBe(429)
    }
  })
})

test('S7: a hundred wrong passwords at once at two processes are as many guesses as one by one', async () => {
  const form = await openFrom()
  const sent = Array.from({ length: 100 }, async (_, at) =>
    guess({ ...form, agent: form.agent.clone() }, 'wrong', at % 2, BOB),
  )
  const statuses = (await Promise.all(sent)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 403).length).toBeLessThanOrEqual(60)
  expect(statuses.filter((status) => status === 403).length).toBeGreaterThanOrEqual(10)
  expect(new Set(statuses)).toEqual(new Set([403, 429]))
  await expect.poll(async () => (await guess(form, BOB.password, 1, BOB)).status).toBe(429)
  await expect.poll(async () => (await guess(form, BOB.password, 0, BOB)).status).toBe(429)
})

test('one password tried on many names ends, too', async () => {
  const form = await openFrom()
  let tried = 0
  for (let status = 403; status === 403 && tried < 100; tried++)
    status = (await form.agent.post(form.action, { ...form.fields, username: `name-${tried}`, password: 'Password1' })).status
  expect(tried).toBeGreaterThanOrEqual(10)
  expect(tried).toBeLessThanOrEqual(61)
}) // prettier-ignore
