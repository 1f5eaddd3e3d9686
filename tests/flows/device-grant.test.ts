/**
 * The device authorization grant (RFC 8628) at two processes of one
 * database: a device by `openid-client`, a person with a browser.
 * @needs latchkey-device-code
 */
import { decodeJwt } from 'jose'
import * as device from 'openid-client'
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import {
  allow,
  ask,
  type Asked,
  DEVICE_SEED,
  DEVICE_SETTINGS,
  enter,
  newPerson,
  poll,
} from '../support/device.ts'
import { runCommandHere } from '../support/command-here.ts'
import { spawnServer } from '../support/process.ts'
import { ALICE, BOB, goThrough } from '../support/sign-in.ts'
import { findForm } from '../support/user-agent.ts'

const server = await spawnServer(DEVICE_SETTINGS, { seed: DEVICE_SEED })
const beside = await spawnBeside(server.settings, server.database)
const credentials = ({ username, password }: typeof BOB) => ({ username, password })

test('openid-client: a device asks, a person allows, the device gets its tokens and refreshes them', async () => {
  const config = await device.discovery(new URL(server.url), 'tv', undefined, device.None(), {
    execute: [device.allowInsecureRequests],
  })
  const asked = await device.initiateDeviceAuthorization(config, {
    scope: 'openid email read_books',
    claims: JSON.stringify({ userinfo: { email: null, phone_number: null } }),
  })
  expect(asked).toMatchObject({ verification_uri: `${server.url}/device`, expires_in: 600, interval: 5 })
  expect(asked.user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
  expect(Buffer.from(asked.device_code, 'base64url')).toHaveLength(32)
  const polling = device.pollDeviceAuthorizationGrant(config, asked)

  const person = newPerson(server)
  const prefilled = await person.get(asked.verification_uri_complete!)
  expect(prefilled.body).toContain('this very code')
  const login = await person.submit(prefilled, 'device')
  expect(login.body).toContain('Living room TV')
  const consent = await person.submit(login, 'login', credentials(ALICE))
  expect(consent.body).toContain(
    'Did you start this yourself? A device at <bdi>127.0.0.1</bdi> asked a moment ago, and',
  )
  expect(consent.body).not.toContain('You will be sent to')
  expect(consent.body.match(/Your (?:email address|phone number)/g)).toEqual([
    'Your phone number',
    'Your email address',
  ])
  const end = await person.submit(consent, 'consent', { decision: 'allow' })
  expect(end).toMatchObject({ status: 200, url: `${server.url}/device/allowed` })
  expect(end.body).toContain('id="device-allowed"')

  const tokens = await polling
  expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'openid email read_books' })
  expect(tokens.claims()).toMatchObject({ aud: 'tv', email: ALICE.email, amr: ['pwd'] })
  const userinfo = await device.fetchUserInfo(config, tokens.access_token, tokens.claims()!.sub)
  expect(userinfo).toMatchObject({ phone_number: ALICE.phone_number })
  const refreshed = await device.refreshTokenGrant(config, tokens.refresh_token!)
  expect(decodeJwt(refreshed.access_token).sub).toBe(tokens.claims()!.sub)
})

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['2001:db8::1', '2001:db8::ffff:2'],
])(
  'what anybody asks for from one network is bounded, and the latest is good: %s, %s',
  async (first, next) => {
    const kinds = ['device', 'device-polls', 'device-user-code']
    const from = async (address: string): Promise<Asked> => {
      const form = { client_id: 'tv', scope: 'openid' }
      return (await (
        await server.post('/device_authorization', form, { 'x-forwarded-for': address })
      ).json()) as Asked
    }
    await from(first)
    const [row] = await server.database.query<{ owner: string }>(
      `select owner from artifacts where kind = 'device' and owner like 'anybody %' order by expires_at desc limit 1`,
    )
    const { owner } = row!
    await server.database.query(
      `insert into artifacts (kind, hash, value, owner, expires_at)
      select kind, 'of anybody ' || n, '{}', '${owner}', now() + interval '1 minute'
      from generate_series(1, 999) n, unnest($1::text[]) kind`,
      [kinds],
    )
    const asked = await from(next)
    const stored = await server.database.query(
      `select kind, count(*)::int as n from artifacts where owner = '${owner}' group by 1 order by 1`,
    )
    expect(stored).toEqual(kinds.map((kind) => ({ kind, n: 1000 })))
    expect(await poll(server, asked)).toMatchObject({ error: 'authorization_pending' })
    await server.database.query(`delete from artifacts where hash like 'of anybody %'`)
  },
)

test('codes are good as people type them', async () => {
  const variants = [
    (code: string) => code.toLowerCase(),
    (code: string) => code.replace('-', ''),
    (code: string) => `  ${code.slice(0, 2)} ${code.slice(2, 4)}\u2013${code.slice(5)} `,
    (code: string) => code.replaceAll('S', '5').replaceAll('Z', '2').replaceAll('B', '8'),
  ]
  for (const typed of variants) {
    const page = await enter(server, newPerson(server), { user_code: typed((await ask(server)).user_code) })
    expect(findForm(page, 'login')).toBeDefined()
  }
})

test('who denies is told so, and so is the device', async () => {
  const asked = await ask(server)
  const person = newPerson(server)
  const consent = await person.submit(await enter(server, person, asked), 'login', credentials(BOB))
  const end = await person.submit(consent, 'consent', { decision: 'deny' })
  expect(end).toMatchObject({ status: 200, url: `${server.url}/device/denied` })
  expect(end.body).toContain('id="device-denied"')
  for (const at of [server, beside])
    expect(await poll(at, asked)).toMatchObject({ status: 400, error: 'access_denied' })
})

test('the page asks again of who allowed the same before', async () => {
  const person = newPerson(server)
  await allow(server, await ask(server), person)
  const second = await ask(server)
  const page = await enter(server, person, second)
  expect(findForm(page, 'consent')).toBeDefined()
  expect(await poll(server, second)).toMatchObject({ error: 'authorization_pending' })
})

test('a link with the code in it does nothing by being opened', async () => {
  const asked = await ask(server)
  const person = newPerson(server)
  await allow(server, await ask(server), person)
  await person.get(asked.verification_uri_complete)
  expect(await poll(server, asked)).toMatchObject({ error: 'authorization_pending' })
  const form = findForm(await person.get(asked.verification_uri_complete), 'device')
  expect(form?.fields['user_code']).toBe(asked.user_code)
})

test('a code belongs to the browser that entered it first, its pages too', async () => {
  const asked = await ask(server)
  const [person, other] = [newPerson(server), newPerson(server)]
  const login = await enter(server, person, asked)
  expect(await enter(server, other, asked)).toMatchObject({ status: 400 })
  const stolen = await other.get(login.url)
  expect(stolen).toMatchObject({ status: 403 })
  expect(stolen.body).toContain('access_denied')
  // The same browser may begin again.
  const again = await goThrough(person, await enter(server, person, asked))
  expect(again.url).toBe(`${server.url}/device/allowed`)
  const late = await goThrough(person, await person.get(login.url))
  expect(late).toMatchObject({ status: 400 })
  expect(await poll(server, asked)).toMatchObject({ status: 200 })
})

test('a form of another site is refused', async () => {
  const asked = await ask(server)
  const person = newPerson(server)
  await person.get(`${server.url}/device`)
  const forged = await person.post(`${server.url}/device`, { user_code: asked.user_code })
  expect(forged).toMatchObject({ status: 403 })
})

test('T12: who guesses codes is stopped, and a right guess is refused too', async () => {
  const asked = await ask(server)
  const guesser = newPerson(server)
  const form = await guesser.get(`${server.url}/device`)
  const statuses: number[] = []
  for (let tries = 0; tries < 12; tries++)
    statuses.push((await guesser.submit(form, 'device', { user_code: 'BBBB-BBBB' })).status)
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 400), 429, 429])
  const right = await guesser.submit(form, 'device', { user_code: asked.user_code })
  expect(right).toMatchObject({ status: 429 })
  expect(Number(right.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await allow(server, asked)).url).toBe(`${server.url}/device/allowed`)
})

test('who guesses codes signed in is stopped from whichever network they come', async () => {
  const person = newPerson(server)
  await allow(server, await ask(server), person)
  const statuses: number[] = []
  for (let tries = 0; tries < 12; tries++) {
    const elsewhere = newPerson(server)
    for (const [name, value] of person.cookies) elsewhere.cookies.set(name, value)
    statuses.push((await enter(server, elsewhere, { user_code: 'BBBB-BBBB' })).status)
  }
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 400), 429, 429])
  const other = newPerson(server)
  expect((await allow(server, await ask(server), other, BOB)).url).toBe(`${server.url}/device/allowed`)
})

test('who signs out, or is disabled, before the device fetches its tokens gives nothing', async () => {
  const person = newPerson(server)
  const [left, disabled] = [await ask(server), await ask(server)]
  await allow(server, left, person)
  const asking = await person.get(`${server.url}/end-session`)
  const csrf_token = /name="csrf_token" value="([^"]+)"/.exec(asking.body)![1]!
  const signedOut = await person.post(asking.url, { csrf_token })
  expect(signedOut.body).toContain('id="signed-out"')
  expect(await poll(beside, left)).toMatchObject({ status: 400, error: 'access_denied' })

  await goThrough(person, await enter(server, person, disabled), BOB)
  const { status } = await runCommandHere(['user', 'disable', BOB.username], server.settings)
  expect(status).toBe(0)
  expect(await poll(server, disabled)).toMatchObject({ status: 400, error: 'access_denied' })
})

test('no code is stored, nor in the log', async () => {
  const asked = await ask(server)
  await enter(server, newPerson(server), asked)
  await poll(server, asked)
  const letters = asked.user_code.replace('-', '')
  const stored = JSON.stringify(await server.database.query('select * from artifacts'))
  for (const secret of [asked.device_code, asked.user_code, letters]) {
    expect(stored).not.toContain(secret)
    expect(server.output() + beside.output()).not.toContain(secret)
  }
})
