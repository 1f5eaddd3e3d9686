/**
 * Two plugins of people who know nothing of this checkout, packed, installed and compiled: signing in by a code that comes by mail, and a
 * second factor before the account, the administration and clients that ask for it. In a browser, whose requests two processes of one
 * database answer in turn.
 */
import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as client from 'openid-client'
import { describe, expect, test } from 'vitest'
import { startBalancer } from '../support/balancer.ts'
import { spawnBeside } from '../support/beside.ts'
import { noBrowser, textOf } from '../support/browser.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { compile, installStranger, pack } from '../support/packages.ts'
import {
  askFor,
  discover,
  exchange,
  newPerson,
  openCallback,
  type Person,
  signIn,
} from '../support/people.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import { requestsTo } from '../support/requests.ts'
import { statusOf } from '../support/service.ts'
import { freePort } from '../support/settings.ts'
import { ALICE, BOB, SEED, WEB } from '../support/sign-in.ts'

const ROOT = {
  username: 'root',
  password: 'a password of an administrator',
  roles: ['admin'],
  email: 'root@example.com',
}
const VERIFIED = { ...BOB, email_verified: true }
/** Whose address somebody else may have. */
const UNVERIFIED = { username: 'carol', email: 'carol@example.com' }
const LEAVING = { username: 'dave', email: 'dave@example.com', email_verified: true }
const callback = await openCallback()
const seed = {
  ...SEED,
  users: [ALICE, VERIFIED, ROOT, UNVERIFIED, LEAVING],
  clients: [{ ...WEB, redirect_uri: callback }],
}

const packed = await pack('latchkey')
const folders = await Promise.all(
  ['email-code', 'second-factor'].map(async (stranger) =>
    installStranger(stranger, 'latchkey', packed, ['@types/node']),
  ),
)
const compiling = Promise.all(folders.map(compile))
compiling.catch(() => {})
const MAILBOX = join(await temporaryDirectory(), 'mails')
const balancer = await startBalancer()
const files = ['email-code/email-code.ts', 'email-code/mailbox.ts', 'second-factor/second-factor.ts']
const settings = {
  PLUGINS: files
    .map((file) => join(folders[Number(file.startsWith('second'))]!, file.split('/')[1]!))
    .join(','),
  OIDC_ISSUER: balancer.url,
  MAILBOX,
}
const portOf = (output: { settings: { PORT?: unknown } }): number => Number(output.settings.PORT)
const PORT = await freePort()
balancer.sendTo(PORT)
const one = await spawnServer({ ...settings, PORT }, { seed })
const two = await spawnBeside(one.settings, one.database)
balancer.sendTo(PORT, portOf(two))

const mails = async (): Promise<string[]> =>
  (await readFile(MAILBOX, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '')
let read = 0

/** Of the next mail, once some process has delivered it. */
async function mailedCode(): Promise<string> {
  await expect.poll(async () => (await mails()).length).toBeGreaterThan(read)
  const { text } = JSON.parse((await mails())[read++]!) as { text: string }
  return /^\d{6}/.exec(text)![0]
}

async function askForCode({ page }: Person, username: string): Promise<void> {
  await page.fill('#email-code-username', username)
  await page.click('#send-code')
  await page.waitForSelector('#code')
}

async function verify({ page }: Person, code: string): Promise<void> {
  await page.fill('#code', code)
  await page.click('#verify')
}

/** What an authenticator app shows, `steps` from now. */
function totp(secret: string, steps = 0): string {
  const bits = secret
    .split('')
    .map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'))
    .join('')
  const key = Buffer.from(bits.match(/.{8}/g)!.map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps))
  const mac = createHmac('sha1', key).update(counter).digest()
  return String((mac.readUInt32BE(mac.at(-1)! & 15) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

test('both compile strictly against the package', async () => {
  await compiling
})

describe.skipIf(noBrowser)('a code by mail', () => {
  test('signs in to an app: the page, the mail, a wrong code, a reload, the right one', async () => {
    const app = await discover(balancer.url, [WEB.client_id, WEB.client_secret])
    const person = await newPerson()
    const { page, said } = person
    const answer = await askFor(app, person, { redirect_uri: callback, scope: 'openid' }, async () => {
      await askForCode(person, ALICE.username)
      const code = await mailedCode()
      await verify(person, code === '000000' ? '000001' : '000000')
      await page.waitForSelector('#code-error')
      await page.goto(page.url().replace(/\/login\.email-code/, ''))
      await verify(person, code)
      await page.click('#allow')
    })
    const tokens = await exchange(app, answer)
    expect(tokens.claims()).toMatchObject({ amr: ['otp'], acr: '1' })
    expect(said.filter((line) => !line.includes('403'))).toEqual([])
  })

  test('signs in to the account, is used once, and goes back to the page by Back', async () => {
    const person = await newPerson()
    const { page } = person
    await page.goto(`${balancer.url}/account/profile`)
    const first = page.url()
    await askForCode(person, BOB.username)
    await page.goBack()
    expect(await page.isVisible('#login')).toBe(true)
    await page.goForward()
    const code = await mailedCode()
    await verify(person, code)
    await page.waitForURL(`${balancer.url}/account/profile`)
    const thief = await newPerson()
    await thief.page.goto(first)
    await askForCode(thief, BOB.username)
    await mailedCode()
    await verify(thief, code)
    await thief.page.waitForSelector('#code-error')
  })

  test('outlives a restart between its pages', async () => {
    const person = await newPerson()
    await person.page.goto(`${balancer.url}/account`)
    await askForCode(person, BOB.username)
    balancer.sendTo(portOf(two))
    expect(await one.stop()).toBe(0)
    await verify(person, await mailedCode())
    await person.page.waitForURL(`${balancer.url}/account`)
    await spawnServer(one.settings, { database: one.database })
    const back = requestsTo(`http://127.0.0.1:${PORT}`)
    await expect.poll(async () => statusOf(back.get('/readyz'))).toBe(200)
    balancer.sendTo(PORT, portOf(two))
  })

  test('of who is deleted meanwhile is not right any more', async () => {
    const person = await newPerson()
    await person.page.goto(`${balancer.url}/account`)
    await askForCode(person, LEAVING.username)
    const code = await mailedCode()
    await one.database.query(`delete from users where username = '${LEAVING.username}'`)
    await verify(person, code)
    await person.page.waitForSelector('#code-error')
  })

  test('looks the same for a name that is nobody’s and for an address that nobody has verified, and sends nothing', async () => {
    for (const username of ['nobody-of-this-name', UNVERIFIED.username]) {
      const person = await newPerson()
      await person.page.goto(`${balancer.url}/account`)
      await askForCode(person, username)
      await verify(person, '123456')
      await person.page.waitForSelector('#code-error')
    }
    const queued = await one.database.query(`select count(*)::int as queued from outbox where kind = 'mail'`)
    expect([await mails(), queued]).toEqual([(await mails()).slice(0, read), [{ queued: 0 }]])
  })
})

describe.skipIf(noBrowser)('a second factor', () => {
  let secret = ''
  /** Good for half a minute at least, once. */
  let used = ''

  test('is set up on the way into the administration, which the password alone does not open', async () => {
    const person = await newPerson()
    const { page } = person
    await page.goto(`${balancer.url}/admin/users`)
    await signIn(person, ROOT)
    secret = await textOf(page, '#totp-secret')
    for (const path of ['/account', '/admin', '/account/second-factor']) {
      await page.goto(`${balancer.url}${path}`)
      expect(await page.isVisible('#second-factor')).toBe(true)
    }
    secret = (await page.textContent('#totp-secret'))!
    used = totp(secret)
    await verify(person, used)
    await page.waitForURL(`${balancer.url}/account/second-factor`)
    expect(await page.isVisible('#remove-factor')).toBe(true)
    await page.goto(`${balancer.url}/admin/users`)
    expect(await page.textContent('#signed-in-as')).toBe(ROOT.username)
  })

  test('a code is used once, over both processes; who goes back after it is led on all the same', async () => {
    const person = await newPerson({ javaScriptEnabled: false })
    const { page } = person
    await page.goto(`${balancer.url}/admin`)
    await signIn(person, ROOT)
    await verify(person, used)
    expect(await textOf(page, '#factor-error')).toContain('used already')
    await page.goto(`${balancer.url}/admin`)
    await page.fill('#code', totp(secret, 1))
    await page.click('#verify')
    await page.waitForURL(`${balancer.url}/admin`)
    // Back is where a code was asked for; whoever has given it goes on.
    await page.goBack()
    expect([page.url(), await page.textContent('#signed-in-as')]).toEqual([
      `${balancer.url}/admin`,
      ROOT.username,
    ])
  })

  test('is asked for where an app asks for it, unless no page may be shown, and told in the ID token', async () => {
    const app = await discover(balancer.url, [WEB.client_id, WEB.client_secret])
    const parameters = { redirect_uri: callback, scope: 'openid', acr_values: '2' }
    // What is wished for is no reason to refuse where no page may be shown (OpenID Connect Core §5.5.1.1).
    const without = await newPerson()
    await askFor(app, without, { redirect_uri: callback, scope: 'openid' }, async () => {
      await signIn(without, ALICE)
      await without.page.waitForURL(
        (url) => url.href.startsWith(callback) || url.pathname.startsWith('/interaction'),
      )
      if (await without.page.isVisible('#allow')) await without.page.click('#allow')
    })
    const answered = await askFor(app, without, { ...parameters, prompt: 'none' })
    expect((await exchange(app, answered)).claims()).toMatchObject({ acr: '1' })
    const person = await newPerson()
    const answer = await askFor(app, person, parameters, async () => {
      await signIn(person, ALICE)
      await verify(person, totp(await textOf(person.page, '#totp-secret')))
      await person.page.waitForURL(
        (url) => url.href.startsWith(callback) || url.pathname.startsWith('/interaction'),
      )
      if (await person.page.isVisible('#allow')) await person.page.click('#allow')
    })
    expect((await exchange(app, answer)).claims()).toMatchObject({ acr: '2', amr: ['pwd', 'otp', 'mfa'] })
    const silent = client.buildAuthorizationUrl(app, {
      redirect_uri: callback,
      scope: 'openid',
      prompt: 'none',
    })
    const stranger = await newPerson()
    await stranger.page.goto(`${balancer.url}/account`)
    await signIn(stranger, ALICE)
    await stranger.page.waitForSelector('#second-factor')
    await stranger.page.goto(silent.href)
    expect(new URL(stranger.page.url()).searchParams.get('error')).toBe('login_required')
  })

  test('is taken by an administrator from who has lost it', async () => {
    const { stdout } = await runCommand(['user', 'reset-factors', ALICE.username], one.settings)
    expect(stdout).toBe(`${ALICE.username} has no second factor any more.\n`)
    const person = await newPerson()
    await person.page.goto(`${balancer.url}/account`)
    await signIn(person, ALICE)
    expect(await person.page.textContent('#signed-in-as')).toBe(ALICE.username)
  })

  test('guesses at it are refused after a while, whichever process is asked', async () => {
    const person = await newPerson()
    await person.page.goto(`${balancer.url}/admin`)
    await signIn(person, ROOT)
    let tries = 0
    for (; tries < 45; tries++) {
      await verify(person, '12345x')
      if ((await textOf(person.page, '#factor-error')).includes('too many')) break
    }
    expect(tries).toBeGreaterThanOrEqual(10)
    expect(tries).toBeLessThan(45)
  })

  test('its secret is neither in the database nor in a log', async () => {
    const rows = JSON.stringify(await one.database.query('select * from user_records'))
    for (const text of [rows, one.output(), two.output()]) expect(text).not.toContain(secret)
  })
})
