/** Wherever a secret, a password or a code can be guessed, a hundred guesses at once at two processes are a few; the owner elsewhere gets in. */
import { describe, expect, test } from 'vitest'
import type { EventType } from '../../src/events.ts'
import { ACCOUNT, type FormKind, type OpenForm, SET_PASSWORD, SETUP, SIGN_IN } from '../security/forms.ts'
import { spawnBeside } from '../support/beside.ts'
import { ask, DEVICE_SEED, DEVICE_SETTINGS } from '../support/device.ts'
import { sumOf } from '../support/metrics.ts'
import { basic } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { statusOf } from '../support/service.ts'
import { freePort } from '../support/settings.ts'
import { ALICE, WEB } from '../support/sign-in.ts'
import { createUserAgent, findForm, type UserAgent } from '../support/user-agent.ts'
import { rowsWith } from '../support/left-out.ts'

const [METRICS_PORT, otherMetricsPort] = [await freePort(), await freePort()]
const one = await startServer({ ...DEVICE_SETTINGS, METRICS_PORT }, { seed: DEVICE_SEED })
const two = await spawnBeside({ ...one.settings, METRICS_PORT: otherMetricsPort }, one.database)
const both = [one, two]
const ports = both.map(({ settings }) => String(settings.PORT))
/** Of the form of a generated secret, whose check is quick. */
const WRONG_SECRET = `lks_${'x'.repeat(43)}`

let addresses = 0
const elsewhere = (): Record<string, string> => ({ 'x-forwarded-for': `198.51.100.${++addresses}` })

/** Sends a form to one of the processes. */
async function submit(
  { agent, action, fields }: OpenForm,
  filled: Record<string, string>,
  at = 0,
): Promise<number> {
  const { status } = await agent
    .clone()
    .post(action.replace(/:\d+\//, `:${ports[at]}/`), { ...fields, ...filled })
  return status
}

/** The browser's cookies, at another address. */
function moved({ cookies }: UserAgent): UserAgent {
  const agent = createUserAgent(one.url, elsewhere())
  for (const [name, value] of cookies) agent.cookies.set(name, value)
  return agent
}

interface Opened {
  guess(at: number): Promise<number>
  /** The status of the right one, from an address of its own. */
  own(): Promise<number>
}

interface Place {
  /** As metrics name it. */
  route: string
  /** The answer to a wrong guess. */
  wrong: number
  /** How many guesses are answered so. */
  limit: number
  open(): Promise<Opened>
}

const ofForm = (
  kind: FormKind,
  wrong: number,
  limit: number,
  guessed: Record<string, string>,
  right = {},
): Place => ({
  route: kind.route,
  wrong,
  limit,
  async open() {
    const form = await kind.open(one, createUserAgent(one.url, elsewhere()))
    return {
      guess: async (at) => submit(form, guessed, at),
      own: async () => submit({ ...form, agent: moved(form.agent) }, right),
    }
  },
})

const PLACES: Record<string, Place> = {
  'the secret of a client': {
    route: '/token',
    wrong: 401,
    limit: 20,
    async open() {
      const [form, headers] = [{ grant_type: 'client_credentials' }, elsewhere()]
      const present = async (at: number, secret: string, from = headers) =>
        statusOf(both[at]!.post('/token', form, { ...basic(WEB.client_id, secret), ...from }))
      return { guess: async (at) => present(at, WRONG_SECRET), own: async () => present(1, WEB.client_secret, elsewhere()) }
    },
  },
  'the password of a user': ofForm(SIGN_IN, 403, 20, { username: ALICE.username, password: 'a guess' }, { username: ALICE.username, password: ALICE.password }),
  'the present password, before a new one': ofForm(ACCOUNT.password, 400, 20, { current_password: 'a guess' }),
  'the link of the first administrator': ofForm(SETUP, 400, 40, { token: 'a guess' }),
  ...rowsWith('latchkey-device-code', {
    'the code that a device shows': {
      route: '/device',
      wrong: 400,
      limit: 10,
      async open() {
        const agent = createUserAgent(one.url, elsewhere())
        const page = await agent.get(`${one.url}/device`)
        const form = { agent, ...findForm(page, 'device')! }
        const { user_code } = await ask(one)
        return {
          guess: async (at: number) => submit(form, { user_code: 'BCDF-GHJK' }, at),
          own: async () => submit({ ...form, agent: moved(agent) }, { user_code }),
        }
      },
    },
  }),
} // prettier-ignore

/** In both processes. */
async function throttledAt(route: string): Promise<number> {
  const other = await fetch(`http://127.0.0.1:${otherMetricsPort}/metrics`)
  const texts = [await one.server.metrics!.text(), await other.text()]
  return texts.reduce((sum, text) => sum + sumOf(text, 'latchkey_throttled_requests_total', { route }), 0)
}

describe.each(Object.entries(PLACES))('%s', (_name, { route, wrong, limit, open }) => {
  test('is guessed a few times, and the owner elsewhere gets in', async () => {
    const { guess, own } = await open()
    const before = await throttledAt(route)
    const statuses = await Promise.all(Array.from({ length: 100 }, async (_, at) => guess(at % 2)))
    const refused = statuses.filter((status) => status === 429).length
    expect(statuses.filter((status) => status === wrong)).toHaveLength(limit)
    expect(refused).toBe(100 - limit)
    await expect.poll(async () => throttledAt(route)).toBe(before + refused)
    expect(await own()).toBeLessThan(400)
  })
})

test('a link for a password that is sent a hundred times at once sets one password', async () => {
  const form = await SET_PASSWORD.open(one, createUserAgent(one.url, elsewhere()))
  const agent = createUserAgent(one.url, elsewhere())
  const page = await agent.get(`${one.url}/set-password?token=${form.fields['token']}`)
  const stranger = { agent, ...findForm(page, 'set-password')! }
  const filled = { password: form.fields['password']! }
  const from = [form, { ...stranger, fields: { ...stranger.fields, ...filled } }]
  const statuses = await Promise.all(Array.from({ length: 100 }, async (_, at) => submit(from[at >> 1 & 1]!, {}, at % 2)))
  // The browser that had the link is told so each time that it sends the form.
  const [first, second] = [0, 1].map((browser) => statuses.filter((_, at) => (at >> 1 & 1) === browser))
  const [had, had_not] = first!.includes(410) ? [second!, first!] : [first!, second!]
  expect(new Set(had)).toEqual(new Set([200, 303]))
  expect(new Set(had_not)).toEqual(new Set([410, 429]))
  const other = await SET_PASSWORD.open(one, createUserAgent(one.url, elsewhere()))
  expect(await submit(other, {})).toBeLessThan(400)
}) // prettier-ignore

test.each([
  ['user.sign_in_failed', 'the password of a user'],
  ['client.authentication_failed', 'the secret of a client'],
])('the audit log has %s for each guess that was checked, in a row a second', async (type, place) => {
  const { limit, open } = PLACES[place]!
  const { guess } = await open()
  const from = `198.51.100.${addresses}`
  const began = performance.now()
  await Promise.all(Array.from({ length: 100 }, async (_, at) => guess(at % 2)))
  const seconds = Math.ceil((performance.now() - began) / 1000)
  const counts = async () =>
    (await one.database.query<{ count: number }>('select count from audit_events where type = $1 and address = $2', [type, from])).map(({ count }) => count)
  const times = async () => (await counts()).reduce((sum, count) => sum + count, 0)
  await expect.poll(times).toBeGreaterThanOrEqual(limit)
  // Each process may check as many before it hears of the other's failures, and writes once a second.
  expect(await times()).toBeLessThanOrEqual(2 * limit)
  expect((await counts()).length).toBeLessThanOrEqual(2 * (seconds + 2))
}) // prettier-ignore

test('the audit log has a limit that was reached, once by each process that found it out', async () => {
  const { guess } = await PLACES['the secret of a client']!.open()
  const from = `198.51.100.${addresses}`
  await Promise.all(Array.from({ length: 100 }, async (_, at) => guess(at % 2)))
  const later = elsewhere()
  for (const { post } of both) await statusOf(post('/token', {}, { ...basic(WEB.client_id, WRONG_SECRET), ...later }))
  const told = async (type: EventType, address: string) =>
    (await one.server.oauth.audit.list({ type }, { limit: 1000 })).events.filter((event) => event.address === address)
  // What a process told before that is stored with it.
  await expect.poll(async () => told('client.authentication_failed', later['x-forwarded-for']!)).toHaveLength(2)
  // Where both checked as many as they might, the limit of the network was reached too.
  const reached = (await told('limit.reached', from)).filter(({ client }) => client !== undefined)
  expect([1, 2]).toContain(reached.length)
  expect(new Set(reached.map(({ client, count }) => `${client} ${count}`))).toEqual(new Set(['web 1']))
}) // prettier-ignore
