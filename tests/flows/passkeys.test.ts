/**
 * A life with a passkey, in Chromium with a virtual authenticator, before two processes that answer in turn: added on the account, then signing in
 * to an app by what the browser suggests, and by the button.
 * @needs latchkey-passkeys
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { assertAccessible } from '../support/accessibility.ts'
import { startBalancer } from '../support/balancer.ts'
import { spawnBeside } from '../support/beside.ts'
import { noBrowser, textOf } from '../support/browser.ts'
import {
  askFor,
  discover,
  exchange,
  newPerson,
  openCallback,
  signIn,
  type Person,
} from '../support/people.ts'
import { spawnServer } from '../support/process.ts'
import { freePort } from '../support/settings.ts'
import { ALICE, SEED, WEB } from '../support/sign-in.ts'
import { giveAuthenticator, type Authenticator } from '../support/virtual-authenticator.ts'

const callback = await openCallback()
const balancer = await startBalancer()
const url = balancer.url.replace('127.0.0.1', 'localhost')
const asked = { redirect_uri: callback, scope: 'openid' }

beforeAll(async () => {
  const PORT = await freePort()
  balancer.sendTo(PORT)
  const seed = { ...SEED, clients: [{ ...WEB, redirect_uri: callback }] }
  const one = await spawnServer({ OIDC_ISSUER: url, PORT }, { seed })
  const two = await spawnBeside(one.settings, one.database)
  balancer.sendTo(PORT, Number(two.settings.PORT))
})

/** By the page of security, or by the offer on the overview, which is for who has none. */
async function register({ page }: Person, at = '/account/security'): Promise<void> {
  await page.goto(`${url}${at}`)
  await page.fill('#username', ALICE.username)
  await page.fill('#password', ALICE.password)
  await page.click('#sign-in')
  if (at === '/account') {
    await page.waitForSelector('#passkey-offer')
    await assertAccessible(page, 'the account with the offer of a passkey')
    await page.click('#passkey-offered')
  }
  await page.click('#add-passkey')
  await page.waitForSelector('#passkeys-done.success')
}

async function signOut({ page }: Person): Promise<void> {
  await page.goto(`${url}/account`)
  await page.click('#sign-out-here')
  await page.waitForSelector('#signed-out')
}

/** From here on the browser suggests nothing by itself. */
const withoutSuggestions = `PublicKeyCredential.isConditionalMediationAvailable = async () => false`

describe.skipIf(noBrowser)('a passkey', () => {
  test('is added, signs in to an app by what the browser suggests, then by the button, and is phr each time', async () => {
    const person = await newPerson()
    const { page, said } = person
    const app = await discover(url, [WEB.client_id, WEB.client_secret])
    const { cdp, authenticatorId } = await giveAuthenticator(person)
    await register(person, '/account')
    const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId })
    expect(credentials).toMatchObject([{ isResidentCredential: true, rpId: 'localhost', userName: 'alice' }])
    await assertAccessible(page, 'security with a passkey')

    await signOut(person)
    const suggested = await askFor(app, person, asked, async () => page.click('#allow'))
    const byAutofill = await exchange(app, suggested)
    expect(byAutofill.claims()).toMatchObject({ acr: 'phr', amr: ['hwk', 'user', 'mfa'] })

    await signOut(person)
    await page.addInitScript(withoutSuggestions)
    const answer = await askFor(app, person, asked, async () => page.click('#passkey'))
    expect((await exchange(app, answer)).claims()).toMatchObject({
      acr: 'phr',
      sub: byAutofill.claims()!.sub,
    })
    expect(said).toEqual([])
  })

  test('the page that offers it is open to everybody, in light and dark; who changes their mind can try again', async () => {
    const person = await newPerson()
    const { page, said } = person
    await page.addInitScript(withoutSuggestions)
    await page.goto(`${url}/account`)
    expect(await page.isVisible('#passkey')).toBe(true)
    // What is said below the button takes no room before anything is.
    const ends = `['#passkey', '#passkey-form'].map((one) => document.querySelector(one).getBoundingClientRect().bottom)`
    expect(new Set(await page.evaluate<number[]>(ends)).size).toBe(1)
    await assertAccessible(page, 'sign-in with passkeys')
    await page.evaluate(
      `navigator.credentials.get = async () => { throw new DOMException('', 'NotAllowedError') }`,
    )
    await page.click('#passkey')
    await page.click('#passkey')
    expect([await page.textContent('#passkey-said'), await page.isEnabled('#passkey')]).toEqual(['', true])
    await page.evaluate(
      `navigator.credentials.get = async () => { throw new DOMException('', 'SecurityError') }`,
    )
    await page.click('#passkey')
    await page.waitForFunction(`document.getElementById('passkey-said').textContent !== ''`)
    expect(said).toEqual([])
  })

  test('one that is not known here any more is refused with a way on, and its keeper is told to forget it', async () => {
    const person = await newPerson()
    const { page } = person
    const { cdp, authenticatorId } = await giveAuthenticator(person)
    await register(person)
    await page.click('#delete-passkey-0')
    await page.waitForSelector('#passkeys-done.success')
    await page.addInitScript(
      `${withoutSuggestions}; PublicKeyCredential.signalUnknownCredential = async (told) => sessionStorage.setItem('told', JSON.stringify(told))`,
    )
    await signOut(person)
    await page.goto(`${url}/account`)
    // The one that was deleted is forgotten by the authenticator too, by the signal for it.
    await cdp.send('WebAuthn.clearCredentials', { authenticatorId })
    await giveUnknown(person, { cdp, authenticatorId })
    await page.click('#passkey')
    await page.waitForSelector('#login-error')
    expect(await textOf(page, '#login-error')).toContain('sign in with your password')
    await expect
      .poll(async () => JSON.parse(await page.evaluate<string>(`sessionStorage.getItem('told')`)) as unknown)
      .toMatchObject({ rpId: 'localhost' })
    await assertAccessible(page, 'a passkey that is refused')
    await signIn(person, ALICE)
    await page.waitForURL(`${url}/account`)
  })

  test.each([
    ['JavaScript is off', { javaScriptEnabled: false }, ''],
    [
      'the browser knows none',
      {},
      `delete PublicKeyCredential.parseRequestOptionsFromJSON; delete PublicKeyCredential.parseCreationOptionsFromJSON`,
    ],
  ])('where %s the button is not there, and the password signs in', async (_what, options, script) => {
    const person = await newPerson(options)
    const { page } = person
    await page.addInitScript(script)
    await page.goto(`${url}/account`)
    expect(await page.isVisible('#passkey')).toBe(false)
    await signIn(person, ALICE)
    await page.waitForURL(`${url}/account`)
    await page.goto(`${url}/account/security`)
    expect([await page.isVisible('#add-passkey'), await page.isVisible('#change-password-link')]).toEqual([
      false,
      true,
    ])
  })
})

/** One for this host that nobody has. */
async function giveUnknown({ page }: Person, { cdp, authenticatorId }: Authenticator): Promise<void> {
  const privateKey = (await page.evaluate(
    `crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign']).then(({ privateKey }) => crypto.subtle.exportKey('pkcs8', privateKey)).then((key) => btoa(String.fromCharCode(...new Uint8Array(key))))`,
  )) as string
  await cdp.send('WebAuthn.addCredential', {
    authenticatorId,
    credential: {
      credentialId: Buffer.alloc(32, 7).toString('base64'),
      isResidentCredential: true,
      rpId: 'localhost',
      privateKey,
      userHandle: Buffer.alloc(32, 8).toString('base64'),
      signCount: 1,
    },
  })
}
