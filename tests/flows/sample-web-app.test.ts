/** The first five minutes: a development start, and its sample web app in a real browser. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { noBrowser, textOf } from '../support/browser.ts'
import { childrenOf } from '../support/children.ts'
import { newPerson, signIn } from '../support/people.ts'
import { spawnServer, type SpawnedServer, type SpawnOptions } from '../support/process.ts'
import { freePort, type Settings } from '../support/settings.ts'
import { until } from '../support/until.ts'

interface Printed {
  server: SpawnedServer
  sample: string
  password: string
}

/** All on `localhost`, as `npm start` has it, so that its cookies meet. */
async function startDemo(settings: Settings = {}, options: SpawnOptions = {}): Promise<Printed> {
  const PORT = await freePort()
  const given = { PORT, OIDC_ISSUER: `http://localhost:${PORT}`, ...settings }
  const server = await spawnServer(given, { seed: 'demo', ...options })
  await until(() => {
    if (!server.output().includes('/books\n')) throw new Error('it has not said where to look')
  })
  return { server, ...readPrinted(server.output()) }
}

function readPrinted(output: string): Omit<Printed, 'server'> {
  const [, sample = ''] = /^ {2}(http:\/\/localhost:\d+)$/m.exec(output) ?? []
  const [, password = ''] = /Sign in as {3}demo \/ (\S+)/.exec(output) ?? []
  return { sample, password }
}

async function isServed(address: string): Promise<boolean> {
  return fetch(address).then(
    ({ ok }) => ok,
    () => false,
  )
}

const demo = await startDemo()

const heading = async (page: Page): Promise<string> => textOf(page, 'main h1')

test.skipIf(noBrowser).each([true, false])(
  'in a browser, JavaScript %s: sign in, consent, see claims, call the API, refresh, sign out',
  async (javaScriptEnabled) => {
    // That of the run before is remembered.
    await demo.server.database.query('delete from consents')
    const person = await newPerson({ javaScriptEnabled })
    const { page, said } = person

    await page.goto(demo.sample)
    expect(await heading(page)).toBe('Sign in to see your books')
    await page.click('#log-in')
    await signIn(person, { username: 'demo', password: demo.password })
    expect(await textOf(page, 'form#consent')).toContain(new URL(demo.sample).host)
    expect(await page.locator('main').textContent()).toContain('Read your books')
    await page.click('#allow')
    await page.waitForURL(`${demo.sample}/`)
    expect(await heading(page)).toBe('Signed in as Demo User')
    const shown = await page.locator('main').textContent()
    for (const claim of ['demo@example.com', '"at+jwt"', '"client_id": "sample-web"', 'read_books'])
      expect(shown).toContain(claim)
    const accessToken = page.locator('section', { hasText: 'Payload' }).locator('pre').last()
    const before = await accessToken.textContent()

    await page.click('text=Show my books')
    expect(await heading(page)).toBe('Your books')
    expect(await page.locator('.books').textContent()).toContain('Solaris')
    await page.click('text=Back to your profile')
    await page.click('#refresh')
    expect(await textOf(page, '[role=status]')).toContain('The tokens are new')
    expect(await accessToken.textContent()).not.toBe(before)

    await page.click('#log-out')
    expect(await textOf(page, '[role=status]')).toContain('You have signed out')
    expect(page.url()).toBe(`${demo.sample}/`)
    expect(await page.locator('.steps .what').allTextContents()).toEqual([
      'GET /.well-known/openid-configuration',
      'GET /authorize',
      'GET /callback',
      'POST /token',
      'GET /jwks',
      'GET /userinfo',
      'GET /books',
      'POST /token',
      'GET /end-session',
    ])
    // At the server too: it asks for the password again.
    await page.click('#log-in')
    await page.waitForSelector('form#login')
    expect(said).toEqual([])
  },
)

test('a sample whose port is taken moves to the next; it ends with its server', async () => {
  const PORT = await freePort()
  const beside = await startDemo({ PORT: PORT + 1, OIDC_ISSUER: `http://localhost:${PORT + 1}` })
  const { sample, server } = await startDemo({ PORT, OIDC_ISSUER: `http://localhost:${PORT}` })
  expect(sample).toBe(`http://localhost:${PORT + 3}`)
  expect(await isServed(sample)).toBe(true)
  expect(await server.stop()).toBe(0)
  expect(await isServed(sample)).toBe(false)

  await beside.server.stop('SIGKILL')
  await expect.poll(() => isServed(beside.sample)).toBe(false)
})

test('several workers have one sample, which ends with them', async () => {
  const { sample, server } = await startDemo({ WORKERS: 2 })
  expect(server.output().match(/development mode/g)).toHaveLength(1)
  expect(await isServed(sample)).toBe(true)
  expect(await server.stop()).toBe(0)
  expect(await isServed(sample)).toBe(false)
})

test('Ctrl-C, which reaches the sample web app too, is no reason for a warning', async () => {
  const { server, sample } = await startDemo({ SHUTDOWN_DELAY: 1 })
  const children = await childrenOf(server.pid)
  expect(children).toHaveLength(1)
  const status = server.stop('SIGINT')
  await until(() => expect(server.output()).toContain('stopping'))
  for (const child of children) process.kill(child, 'SIGINT')
  // It has ended before the server has.
  await until(async () => expect(await isServed(sample)).toBe(false))
  expect(await status).toBe(0)
  expect(server.output()).not.toContain('the sample web app has ended')
})
