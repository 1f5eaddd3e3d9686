/** Who has failed too often finds the form again, with what they typed but for passwords, and is told when to come back. */
import { describe, expect, test } from 'vitest'
import { ACCOUNT, type FormKind, LOGIN, type OpenForm, SETUP, SIGN_IN } from '../security/forms.ts'
import { brandDirectory } from '../support/brand-directory.ts'
import { complaintsOf, newBrowserContext, noBrowser } from '../support/browser.ts'
import { startServer } from '../support/server.ts'
import { ALICE, BOB, SEED } from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page } from '../support/user-agent.ts'

const server = await startServer({ TRUSTED_PROXIES: '127.0.0.1' }, { seed: SEED })
const GUESS = 'a wrong guess'

/** What matters to the script, as it was in the first version of templates. */
const OLDER = `<p class="alert" id="login-error" role="alert">
<% if (model.wait !== null) { %>
<strong role="timer" id="login-wait"><%= model.wait.seconds %></strong> <span class="unit"><%= t('seconds') %></span><span class="until"></span>
<% } %>
</p>
<form id="login" method="post" action="<%= model.action %>">
<input type="hidden" name="csrf_token" value="<%= model.csrfToken %>">
<input id="username" name="username" type="text" value="<%= model.username %>" aria-describedby="login-error">
<input id="password" name="password" type="password" aria-describedby="login-error">
<button class="primary" id="sign-in" type="submit"><%= t('Sign in') %></button>
</form>
<% if (model.wait !== null) { %>
<script src="<%= site.assets['wait.js'] %>" data-one="<%= t('second') %>" data-other="<%= t('seconds') %>" data-ready="<%= t('You can try again now.') %>" defer></script>
<% } %>
`

let addresses = 0
const newAddress = () => ({ 'x-forwarded-for': `198.51.100.${++addresses}` })
const open = async (kind: FormKind, from = newAddress()): Promise<OpenForm> =>
  kind.open(server, createUserAgent(server.url, from))

const send = async ({ agent, action, fields }: OpenForm, filled: Record<string, string>): Promise<Page> =>
  agent.post(action, { ...fields, ...filled })

/** The first answer that is not about the guess. */
async function throttled(form: OpenForm, filled: Record<string, string>): Promise<Page> {
  for (let guesses = 0; guesses <= 60; guesses++) {
    const page = await send(form, filled)
    if (page.status === 429) return page
  }
  throw new Error('sixty guesses were answered')
}

const textOf = ({ body }: Page, id: string): string | undefined =>
  new RegExp(`id="${id}"[^>]*>([^<]*)<`).exec(body)?.[1]

/** As if the time had passed. */
async function passTime(seconds: number): Promise<void> {
  await server.database.query('update throttles set free_at = free_at - make_interval(secs => $1)', [seconds])
}

test.each([
  ['where a client asks', LOGIN],
  ['where a page of ours asks', SIGN_IN],
])(
  'at sign-in, %s: the name stays, the seconds are those of Retry-After, and then it goes on from there',
  async (_where, kind) => {
    const form = await open(kind)
    const page = await throttled(form, { username: ALICE.username, password: GUESS })
    const seconds = Number(page.headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(0)
    expect(textOf(page, 'login-wait')).toBe(String(seconds))
    expect(page.body).toContain('id="login-error" role="alert"')
    expect(page.body).not.toContain('aria-invalid')
    expect(page.body).not.toContain(GUESS)
    expect(findForm(page, 'login')!.fields).toMatchObject({ username: ALICE.username, password: '' })
    await passTime(seconds + 1)
    const again = async (): Promise<number> =>
      form.agent.submit(page, 'login', { password: ALICE.password }).then(({ status }) => status)
    await expect.poll(again).toBeLessThan(400)
  },
)

describe.skipIf(noBrowser)('in a browser', () => {
  /** The page of who has failed too often, at a clock that the test moves on. */
  async function openThrottled(javaScriptEnabled: boolean) {
    const forwarded = newAddress()
    const context = await newBrowserContext({ javaScriptEnabled, extraHTTPHeaders: forwarded })
    const page = await context.newPage()
    if (javaScriptEnabled) {
      await page.clock.install()
      // It stands still but for what the test moves it on.
      await page.clock.pauseAt(Date.now() + 1000)
    }
    const said = complaintsOf(page)
    await page.goto(`${server.url}/sign-in`)
    const form = await open(SIGN_IN, forwarded)
    await throttled(form, { username: ALICE.username, password: GUESS })
    await page.fill('#username', ALICE.username)
    await page.fill('#password', GUESS)
    await page.click('#sign-in')
    await page.locator('#login-wait').waitFor()
    // The script that counts has begun.
    await page.waitForLoadState()
    const text = async () => page.locator('#login-error').innerText()
    const seconds = Number(await page.textContent('#login-wait'))
    return { page, said, text, seconds, form }
  }

  test('the seconds run down, and at their end the same form is sent', async () => {
    const { page, said, text, seconds, form } = await openThrottled(true)
    const start = 'There were too many tries. Please wait'
    expect(await text()).toMatch(new RegExp(`^${start} \\d+ seconds, until \\d+ \\w+ \\d{4} at \\d\\d:\\d\\d UTC, and then try again\\.$`))
    expect(seconds).toBeGreaterThan(90)
    await page.clock.runFor((seconds - 90) * 1000)
    await expect.poll(text).toBe(`${start} 90 seconds, and then try again.`)
    expect(await page.isDisabled('#sign-in')).toBe(true)
    await page.clock.runFor(89_000)
    await expect.poll(text).toContain(' 1 second, and then try again.')
    await page.clock.runFor(1500)
    await expect.poll(text).toBe('You can try again now.')
    expect(await page.isDisabled('#sign-in')).toBe(false)
    expect(await page.inputValue('#username')).toBe(ALICE.username)
    await passTime(seconds + 1)
    const right = { username: ALICE.username, password: ALICE.password }
    await expect.poll(async () => (await send(form, right)).status).toBeLessThan(400)
    await page.fill('#password', ALICE.password)
    await page.click('#sign-in')
    await page.locator('#signed-in-as').waitFor()
    // The answer to the form is a 429, which the console names; nothing is said of a policy.
    expect(said.filter((line) => !line.includes('status of 429'))).toEqual([])
  })

  test('in a copy of the form from before the script stood in what it counts, too', async () => {
    const old = await brandDirectory({ 'templates/login-password.eta': OLDER })
    const branded = await startServer({ BRAND_DIRECTORY: old, TRUSTED_PROXIES: '127.0.0.1' }, { seed: SEED })
    const forwarded = newAddress()
    const context = await newBrowserContext({ extraHTTPHeaders: forwarded })
    const page = await context.newPage()
    await page.clock.install()
    const said = complaintsOf(page)
    await page.goto(`${branded.url}/sign-in`)
    await throttled(await SIGN_IN.open(branded, createUserAgent(branded.url, forwarded)), { username: ALICE.username, password: GUESS })
    await page.fill('#username', ALICE.username)
    await page.fill('#password', GUESS)
    await page.click('#sign-in')
    await page.locator('#login-wait').waitFor()
    await expect.poll(async () => page.isDisabled('#sign-in')).toBe(true)
    await page.clock.runFor(1000)
    expect(Number(await page.textContent('#login-wait'))).toBeGreaterThan(0)
    expect(said.filter((line) => !line.includes('status of 429'))).toEqual([])
  })

  test('without JavaScript the time of day stands there', async () => {
    const { page, text } = await openThrottled(false)
    expect(await text()).toMatch(/Please wait \d+ seconds, until \d+ \w+ \d{4} at \d\d:\d\d UTC, and then try again\.$/)
    const shown = await page.getAttribute('#login-error time', 'datetime')
    expect(Date.parse(shown!)).toBeGreaterThan(Date.now() - 30_000)
    expect(await page.isDisabled('#sign-in')).toBe(false)
    expect(await page.inputValue('#username')).toBe(ALICE.username)
  })
}) // prettier-ignore

test('it is the same page for a name that is nobody’s', async () => {
  const neutral = async (username: string): Promise<string> => {
    const { body } = await throttled(await open(SIGN_IN), { username, password: GUESS })
    return body
      .replaceAll(username, 'NAME')
      .replaceAll(
        /name="csrf_token" value="[^"]*"|action="[^"]*"|href="[^"]*continue=[^"]*"|(?<=id="login-wait"[^>]*>)\d+|<time [^>]*>[^<]*(?:<bdi>[^<]*)?/g,
        '',
      )
  }
  expect(await neutral('bob')).toBe(await neutral('bib'))
})

test('a new password is asked for again, on its page, which says when', async () => {
  const form = await open(ACCOUNT.password)
  const filled = { current_password: GUESS, new_password: 'a new password of some length' }
  const page = await throttled(form, filled)
  expect(textOf(page, 'password-wait')).toContain(` ${page.headers.get('retry-after')} second`)
  expect(findForm(page, 'change-password')!.fields).toMatchObject({ current_password: '', new_password: '' })
  expect(page.body).not.toContain(GUESS)
})

test('the page of the first administrator keeps what was typed', async () => {
  const form = await open(SETUP)
  const typed = { username: 'root', name: 'Ruth Root', email: 'ruth@example.com' }
  const page = await throttled(form, { ...typed, token: 'a guess' })
  expect(page.body).toContain(`Please wait ${page.headers.get('retry-after')} second`)
  expect(findForm(page, 'setup')!.fields).toMatchObject({ ...typed, password: '' })
})

test('who is not throttled is not told to wait', async () => {
  const page = await send(await open(SIGN_IN), { username: BOB.username, password: GUESS })
  expect([page.status, page.body.includes('login-wait')]).toEqual([403, false])
})
