/**
 * The factor in a browser: WCAG as far as a program can tell, without a word of its policy against it, and without scripts.
 * @needs latchkey-second-factor
 */
import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { assertAccessible } from '../../support/accessibility.ts'
import { codeOf } from '../../support/authenticator.ts'
import { noBrowser, textOf } from '../../support/browser.ts'
import { newPerson, openSignedIn, signIn } from '../../support/people.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, authorizationUrl, BOB, SEED } from '../../support/sign-in.ts'

const CARL = { username: 'carl', password: 'a third long password' }
const DORA = { username: 'dora', password: 'a fourth long password' }
const server = await startServer({}, { seed: { ...SEED, users: [ALICE, BOB, CARL, DORA] } })

describe.skipIf(noBrowser)('in a browser', () => {
  test('every page and state is accessible and within its policy; the codes can be kept', async () => {
    const security = `${server.url}/account/security`
    const { page, said } = await openSignedIn(security, ALICE)
    await assertAccessible(page, 'security, off')
    await page.click('#add-totp')
    await assertAccessible(page, 'authenticator')
    await page.fill('#code', '000000')
    await page.click('#verify')
    await page.waitForSelector('#factor-error')
    await assertAccessible(page, 'authenticator, refused')
    const secret = await textOf(page, '#totp-secret')
    await page.fill('#code', codeOf(secret))
    await page.click('#verify')
    await page.waitForSelector('#recovery-codes')
    await assertAccessible(page, 'recovery codes')
    const codes = await page.locator('#recovery-codes code').allTextContents()
    expect(codes).toHaveLength(10)
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download' }).click()
    expect(await readFile(await (await downloading).path(), 'utf8')).toBe(
      codes.map((one) => `${one}\n`).join(''),
    )
    await page.getByRole('button', { name: 'Copy' }).click()
    await page.waitForSelector('.codes [role=status]:not(:empty)')
    await page.click('#done')
    await assertAccessible(page, 'security, on')
    await page.click('#new-recovery-codes')
    await assertAccessible(page, 'recovery codes, asked')

    const other = await newPerson()
    await other.page.goto(security)
    await signIn(other, ALICE)
    await assertAccessible(other.page, 'factor')
    await other.page.fill('#code', '000000')
    await other.page.click('#verify')
    await other.page.waitForSelector('#factor-error')
    await assertAccessible(other.page, 'factor, refused')
    await other.page.click('#another-way')
    await other.page.fill('#code', codes[0]!)
    await other.page.check('#remember')
    await other.page.click('#verify')
    await other.page.waitForURL(security)
    for (const lines of [said, other.said]) expect(lines.filter((one) => !one.includes('403'))).toEqual([])
  })

  test('who has guessed too often sees the seconds run down, and then tries again', async () => {
    const own = await openSignedIn(`${server.url}/account/security`, DORA)
    await own.page.click('#add-totp')
    await own.page.fill('#code', codeOf(await textOf(own.page, '#totp-secret')))
    await own.page.click('#verify')
    await own.page.waitForSelector('#recovery-codes')

    const guessing = await newPerson()
    const { page, said } = guessing
    await page.clock.install()
    await page.goto(`${server.url}/account/security`)
    await signIn(guessing, DORA)
    for (let tries = 0; tries < 60 && !(await page.isVisible('#factor-wait')); tries++) {
      await page.fill('#code', '000000')
      await page.click('#verify')
      await page.waitForSelector('#factor-error')
      await page.waitForLoadState()
    }
    const seconds = Number(await textOf(page, '#factor-wait'))
    expect(seconds).toBeGreaterThan(0)
    // The script that counts runs once the page is read to its end.
    await expect.poll(async () => page.isDisabled('#verify')).toBe(true)
    await page.clock.runFor((seconds + 1) * 1000)
    await expect.poll(async () => page.innerText('#factor-error')).toBe('You can try again now.')
    expect(await page.isDisabled('#verify')).toBe(false)
    expect(said.filter((one) => !/403|429/.test(one))).toEqual([])
  })

  test.each([
    ['with scripts', BOB, true],
    ['without scripts', CARL, false],
  ])('%s it is set up on the way to an app, and asked for', async (_how, user, javaScriptEnabled) => {
    const acr = { essential: true, values: ['2'] }
    const asked = authorizationUrl(server, { claims: JSON.stringify({ id_token: { acr } }) })
    const person = await newPerson({ javaScriptEnabled })
    const { page } = person
    await page.goto(asked)
    await signIn(person, user)
    const secret = await textOf(page, '#totp-secret')
    if (javaScriptEnabled) await assertAccessible(page, 'set up on the way')
    await page.fill('#code', codeOf(secret))
    await page.press('#code', 'Enter')
    await page.waitForSelector('#recovery-codes')
    if (javaScriptEnabled) await assertAccessible(page, 'recovery codes on the way')
    await page.click('#continue')
    await page.waitForSelector('#allow')
    const next = await newPerson({ javaScriptEnabled })
    await next.page.goto(asked)
    await signIn(next, user)
    await next.page.fill('#code', codeOf(secret, 1))
    await next.page.press('#code', 'Enter')
    await next.page.waitForSelector('#allow')
  })
})
