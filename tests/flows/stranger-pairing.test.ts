/** `examples/pairing-grant` copied elsewhere: compiled against the packed package, and served by its command. */
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { answer, type Answer } from '../support/device.ts'
import { compile, installStranger, pack } from '../support/packages.ts'
import { withClient } from '../../src/store/connections.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import type { Requests } from '../support/requests.ts'
import { freePort } from '../support/settings.ts'
import { ALICE, goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent, findForm } from '../support/user-agent.ts'

const GRANT_TYPE = 'urn:example:pairing'
const RADIO = {
  client_id: 'radio',
  client_name: 'Kitchen radio',
  token_endpoint_auth_method: 'none',
  grant_types: [GRANT_TYPE, 'refresh_token'],
  scope: ['read_books'],
}
const seed = { ...SEED, clients: [...SEED.clients, RADIO, { ...RADIO, client_id: 'lock' }] }
const example = resolve(import.meta.dirname, '../../examples/pairing-grant')

const packed = await pack('latchkey')
const folder = await installStranger(example, 'latchkey', packed, ['@types/node'])
const program = join(folder, 'node_modules/.bin/latchkey')

test('it compiles under strict settings, the declarations of libraries included', async () => {
  await compile(folder)
})

const redeem = async (server: Requests, pairing_code: string, client_id = 'radio'): Promise<Answer> =>
  answer(server.post('/token', { grant_type: GRANT_TYPE, client_id, pairing_code }))

test('the installed command serves it, below an issuer with a path', async () => {
  const PORT = await freePort()
  const settings = { PLUGINS: join(folder, 'index.ts'), PORT, OIDC_ISSUER: `http://127.0.0.1:${PORT}/auth` }
  const server = await spawnServer(settings, { seed, program })
  const address = `${server.url}/pair?client_id=radio&scope=openid%20read_books`
  // One that is redeemed while all sign-ins of its person are being ended gives nothing.
  const fleeting = createUserAgent(server.url)
  const shownFirst = await goThrough(fleeting, await fleeting.get(address))
  const racing = /id="pairing-code">([\d ]+)</.exec(shownFirst.body)![1]!
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  const waits = async (count: number) => {
    await expect.poll(async () => server.database.query(waiting)).toHaveLength(count)
  }
  const [ended, redeemed] = await withClient(server.database, async (holder) => {
    await holder.query('begin')
    await holder.query('select from users where username = $1 for update', [ALICE.username])
    const ending = runCommand(['user', 'revoke-tokens', ALICE.username], server.settings)
    await waits(1)
    const redeeming = redeem(server, racing)
    await waits(2)
    await holder.query('commit')
    return Promise.all([ending, redeeming])
  })
  expect([ended.status, redeemed]).toEqual([0, expect.objectContaining({ error: 'invalid_grant' })])

  const person = createUserAgent(server.url, { 'accept-language': 'de' })
  const { username, password } = ALICE
  const consent = await person.submit(await person.get(address), 'login', { username, password })
  expect(consent.body).toContain('Sie bekommen einen Code zu sehen.')
  const shown = await person.submit(consent, 'consent', { decision: 'allow' })
  const code = /id="pairing-code">([\d ]+)</.exec(shown.body)![1]!
  expect(code).toMatch(/^\d{5} \d{5}$/)

  expect(await redeem(server, code, 'lock')).toMatchObject({ status: 400, error: 'invalid_grant' })
  const answers = await Promise.all(Array.from({ length: 10 }, async () => redeem(server, code)))
  expect(answers.filter(({ status }) => status === 200)).toEqual([
    expect.objectContaining({ scope: 'openid read_books', refresh_token: expect.any(String) as string }),
  ])
  const losers = answers.filter(({ status }) => status !== 200)
  expect(losers.every(({ error }) => error === 'invalid_grant')).toBe(true)
  expect(server.output()).not.toContain(code)

  // Asked each time, and who denies gives nothing.
  const again = await person.get(address)
  expect(findForm(again, 'consent')).toBeDefined()
  expect((await person.submit(again, 'consent', { decision: 'deny' })).body).toContain(
    'Es wurde nichts erlaubt',
  )
  // A code of who has signed out since is good for nothing.
  const third = await goThrough(person, await person.get(address))
  const late = /id="pairing-code">([\d ]+)</.exec(third.body)![1]!
  const asking = await person.get(`${server.url}/end-session`)
  const csrf_token = /name="csrf_token" value="([^"]+)"/.exec(asking.body)![1]!
  await person.post(asking.url, { csrf_token })
  expect(await redeem(server, late)).toMatchObject({ status: 400, error: 'invalid_grant' })
})
