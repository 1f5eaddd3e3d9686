/** SECRET_KEY: what it protects, how it is replaced, and what happens with a wrong one. */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { PluginRecords } from '../../src/doors/plugin-records.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { signedIn } from '../plugins/account/owner.ts'
import { asksForFactor, codeOf, setUpFactor } from '../support/authenticator.ts'
import { createClient, requestToken } from '../support/clients.ts'
import { createDatabase } from '../support/database.ts'
import { runCommandHere } from '../support/command-here.ts'
import { runCommand } from '../support/process.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { GUARDED, GUARDED_SCOPE, getAccessToken, statusOf, statusOfRoute } from '../support/service.ts'
import { freePort } from '../support/settings.ts'
import { ALICE, BOB } from '../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../support/user-agent.ts'
import { isThere } from '../support/left-out.ts'

const newKey = () => randomBytes(32).toString('hex')

test('a SECRET_KEY is replaced in two starts: keys are sealed anew, hashes when they are used', async () => {
  const database = await createDatabase()
  const [former, fresh, port] = [newKey(), newKey(), await freePort()]
  const start = async (SECRET_KEY: string) =>
    startServer({ PLUGINS: GUARDED, PORT: port, SECRET_KEY }, { database })
  const sealed = async () => await database.query('select kid, private_jwk from signing_keys order by kid')
  const hash = async () => (await database.query('select hash from client_secrets'))[0]!['hash'] as string

  const before = await start(former)
  const client = await createClient(before, { scope: GUARDED_SCOPE })
  const token = await getAccessToken(before, client)
  const [keys, hashed] = [await sealed(), await hash()]
  await before.close()

  const during = await start(`${fresh},${former}`)
  const resealed = await sealed()
  expect(resealed.map(({ kid }) => kid as string)).toEqual(keys.map(({ kid }) => kid as string))
  for (const [at, key] of resealed.entries()) expect(key['private_jwk']).not.toBe(keys[at]!['private_jwk'])
  expect(await hash()).toBe(hashed)
  expect(await statusOf(requestToken(during, client))).toBe(200)
  await expect.poll(hash).not.toBe(hashed)
  expect(await statusOf(requestToken(during, client))).toBe(200)
  await during.close()

  const after = await start(fresh)
  expect(await statusOf(requestToken(after, client))).toBe(200)
  expect(await statusOfRoute(after, token)).toBe(200)
})

test('signing keys are stored encrypted', async () => {
  const { server, database } = await startServer({}, { makesKeys: true })
  const [all] = await database.query('select json_agg(k)::text as rows from signing_keys k')
  for (const { privateKey } of kernelOf(server).keys.keys()) {
    const { d } = privateKey!.export({ format: 'jwk' })
    expect(all!['rows']).not.toContain(d)
    expect(all!['rows']).not.toContain(Buffer.from(d!, 'base64url').toString('hex'))
  }
  expect(all!['rows']).not.toMatch(/"(?:d|p|q|dp|dq|qi)"/)
})

test.each([['serve'], ['client list'], ['key rotate --json']])(
  'with a wrong SECRET_KEY, %s is refused in one sentence that shows nothing',
  async (command) => {
    const { settings, close, database } = await startServer({}, { database: await createDatabase() })
    await close()
    const wrong = newKey()
    const runIt = command === 'serve' ? runCommand : runCommandHere
    const { status, stdout, stderr } = await runIt(command.split(' '), { ...settings, SECRET_KEY: wrong })
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toMatch(/^[^\n]*SECRET_KEY[^\n]*\.\n$/)
    for (const secret of [wrong, String(settings['SECRET_KEY'])]) expect(stderr).not.toContain(secret)
    expect(await database.query('select from signing_keys')).toHaveLength(2)
  },
)

test.runIf(isThere('latchkey-second-factor'))('second factors and what plugins keep are sealed anew, also of who does not come; a browser that was to ask for none asks when its key is gone', async () => {
  const database = await createDatabase()
  const [former, fresh, port] = [newKey(), newKey(), await freePort()]
  let ofPlugin: PluginRecords<{ word: string }>
  const start = async (SECRET_KEY: string, OIDC_JANITOR_INTERVAL = 1) =>
    startServer({ PORT: port, SECRET_KEY, OIDC_JANITOR_INTERVAL }, {
      database,
      seed: { users: [ALICE, BOB] },
      extend: ({ oauth }) => void (ofPlugin = oauth.records('kept', { sealed: true })),
    })
  const enter = async (agent: UserAgent, { url }: TestServer, { username, password }: typeof ALICE | typeof BOB) => {
    agent.cookies.delete('latchkey-session')
    return agent.submit(await agent.get(`${url}/account`), 'login', { username, password })
  }
  const sealed = async () =>
    (await database.query(`select value->>'sealed' as sealed from user_records union all select value #>> '{}' from plugin_records where kind = 'kept'`)).map((row) => String(row['sealed']).split('.')[0])

  const before = await start(former)
  const agent = createUserAgent(before.url)
  await enter(agent, before, ALICE)
  const { secret } = await setUpFactor(agent, before.url)
  await agent.submit(await enter(agent, before, ALICE), 'second-factor', { code: codeOf(secret), remember: 'yes' })
  const bobs = await setUpFactor(await signedIn(before, BOB), before.url)
  await ofPlugin!.put('one', { word: 'sealed' })
  const [keyOfBefore] = await sealed()
  await before.close()

  const during = await start(`${fresh},${former}`)
  expect(asksForFactor(await enter(agent, during, ALICE))).toBe(false)
  await expect.poll(sealed).not.toContain(keyOfBefore)
  await during.close()

  const after = await start(fresh, 0)
  const asked = await enter(agent, after, ALICE)
  expect(asksForFactor(asked)).toBe(true)
  expect((await agent.submit(asked, 'second-factor', { code: codeOf(secret, 1) })).body).toContain('signed-in-as')
  expect((await ofPlugin!.get('one'))?.value).toEqual({ word: 'sealed' })
  const other = createUserAgent(after.url)
  const page = await other.submit(await enter(other, after, BOB), 'second-factor', { code: codeOf(bobs.secret, 1) })
  expect(page.body).toContain('signed-in-as')
}) // prettier-ignore
