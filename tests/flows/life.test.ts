/**
 * The life of an account, in Chromium: signed up from an app, with a passkey, a second factor and a sign-in elsewhere, through the loss of
 * the passkey, to its end. Once more without scripts, by keyboard alone.
 * @needs latchkey-passkeys, latchkey-second-factor, latchkey-upstreams, latchkey-sign-up, latchkey-own-data
 */
import { describe, expect, test } from 'vitest'
import { codeOf } from '../support/authenticator.ts'
import { noBrowser, textOf } from '../support/browser.ts'
import { reach } from '../support/keyboard.ts'
import { linkIn, openMailbox } from '../support/mailbox.ts'
import { askFor, discover, exchange, newPerson, openCallback, signIn } from '../support/people.ts'
import { basic } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { ALICE, BOB, SEED, WEB } from '../support/sign-in.ts'
import { seedOf, startUpstream } from '../support/upstreams.ts'
import { giveAuthenticator } from '../support/virtual-authenticator.ts'

const callback = await openCallback()
const PORT = await freePort()
const url = `http://localhost:${PORT}`
const corp = await startUpstream('corp', url, [ALICE, BOB])
const server = await startServer(
  { PORT, OIDC_ISSUER: url, OIDC_SIGN_UP: 'on', UNSAFE_OUTBOUND_ORIGINS: corp.issuer },
  { seed: { ...SEED, clients: [{ ...WEB, redirect_uri: callback }], upstreams: [seedOf(corp)] } },
)
const { users } = server.server.oauth
const mailbox = openMailbox(server)
const asked = { redirect_uri: callback, scope: 'openid email offline_access', prompt: 'consent' }
const PASSWORD = 'a password of their own'

describe.skipIf(noBrowser)('an account', () => {
  test('lives with a passkey, loses it, recovers, and ends', async () => {
    const ada = { username: 'ada', email: 'ada@example.com', password: PASSWORD }
    const person = await newPerson()
    const { page, said } = person
    const app = await discover(url, [WEB.client_id, WEB.client_secret])
    const signOut = async () => {
      await page.goto(`${url}/account`)
      await page.click('#sign-out-here')
      await page.waitForSelector('#signed-out')
    }

    // From the app by the link in the mail, and back to it.
    const first = await askFor(app, person, asked, async () => {
      await page.click('#sign-up')
      for (const name of ['username', 'email', 'password'] as const) await page.fill(`#${name}`, ada[name])
      await page.click('#create-account')
      await page.goto(linkIn(await mailbox.next(ada.email)))
      await page.click('#confirm-link')
      await page.click('#allow')
    })
    const tokens = await exchange(app, first)
    const sub = tokens.claims()!.sub
    expect(tokens.claims()).toMatchObject({ email: ada.email, email_verified: true, acr: '1' })

    // A passkey, by which the browser signs in by itself.
    const { cdp, authenticatorId } = await giveAuthenticator(person)
    await page.goto(`${url}/account/security`)
    await page.click('#add-passkey')
    await page.waitForSelector('#passkeys-done.success')
    await signOut()
    const byAutofill = await exchange(app, await askFor(app, person, asked, async () => page.click('#allow')))
    expect(byAutofill.claims()).toMatchObject({ sub, acr: 'phr' })

    // An authenticator app, and its code where the app demands two factors and there is a password.
    await page.goto(`${url}/account/security`)
    await page.click('#add-totp')
    const secret = await textOf(page, '#totp-secret')
    await page.fill('#code', codeOf(secret))
    await page.click('#verify')
    await page.waitForURL('**/account/security/recovery-codes?*')
    const codes = await page.locator('#recovery-codes code').allTextContents()
    await page.click('#done')
    await signOut()
    await cdp.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId })
    const demanding = { ...asked, acr_values: '2' }
    const byBoth = await askFor(app, person, demanding, async () => {
      await signIn(person, ada)
      await page.fill('#code', codeOf(secret, 1))
      await page.click('#verify')
      await page.click('#allow')
    })
    expect((await exchange(app, byBoth)).claims()).toMatchObject({ sub, acr: '2' })

    // The device is lost with both: a code recovers, and the passkey goes.
    await signOut()
    const recovered = await askFor(app, person, demanding, async () => {
      await signIn(person, ada)
      await page.click('#another-way')
      await page.fill('#code', codes[0]!)
      await page.click('#verify')
      await page.click('#allow')
    })
    const last = await exchange(app, recovered)
    expect(last.claims()).toMatchObject({ sub, acr: '2' })
    await page.goto(`${url}/account/security`)
    await page.click('#delete-passkey-0')
    await page.waitForSelector('#passkeys-done.success')

    // A sign-in elsewhere is linked.
    await page.goto(`${url}/account/linked-sign-ins`)
    await page.click('#link-corp')
    await signIn(person, ALICE)
    await page.click('#allow')
    await page.waitForURL(`${url}/account/linked-sign-ins**`)
    expect(await page.textContent('main')).toContain('It is linked')

    // The app is revoked, and its tokens are dead.
    const introspect = async (token: string): Promise<unknown> =>
      (await server.post('/introspect', { token }, basic(WEB.client_id, WEB.client_secret))).json()
    expect(await introspect(last.access_token)).toMatchObject({ active: true })
    await page.goto(`${url}/account/apps`)
    await page.click('#revoke-0 button')
    for (const token of [last.access_token, last.refresh_token!])
      await expect.poll(async () => introspect(token)).toEqual({ active: false })

    // Another address, which counts once it is confirmed.
    await page.goto(`${url}/account/email`)
    await page.fill('#email', 'ada@another.example')
    await page.click('#save')
    const link = linkIn(await mailbox.next('ada@another.example'))
    expect((await users.get(sub)).claims['email']).toBe(ada.email)
    await page.goto(link)
    await page.click('#confirm-link')
    await page.waitForURL('**/confirm-email?done=yes')
    expect((await users.get(sub)).claims).toMatchObject({
      email: 'ada@another.example',
      email_verified: true,
    })

    // The end: nothing is open to it but the way back.
    await page.goto(`${url}/account/data/delete`)
    await page.click('#delete')
    await page.waitForURL('**/account-deletion')
    await page.goto(`${url}/account`)
    await page.waitForSelector('#login')
    expect((await users.get(sub)).deletesAt).not.toBeNull()
    expect(said).toEqual([])
  })

  test('lives without scripts, and by keyboard alone', async () => {
    const ben = { username: 'ben', email: 'ben@example.com', password: PASSWORD }
    const person = await newPerson({ javaScriptEnabled: false })
    const { page } = person
    const app = await discover(url, [WEB.client_id, WEB.client_secret])
    /** Leads to another page, or to the same one as it is then. */
    const press = async () => {
      const next = page.waitForEvent('framenavigated')
      await page.keyboard.press('Enter')
      await next
      await page.waitForLoadState()
    }
    const use = async (selector: string) => {
      await reach(page, selector)
      await press()
    }
    const type = async (selector: string, text: string) => {
      if ((await page.locator(`${selector}:focus`).count()) === 0) await reach(page, selector)
      await page.keyboard.press('Control+A')
      await page.keyboard.type(text)
    }
    const enter = async (fields: Readonly<Record<string, string>>) => {
      for (const [selector, text] of Object.entries(fields)) await type(selector, text)
      await press()
    }
    const signOut = async () => {
      await page.goto(`${url}/account`)
      await use('#sign-out-here')
      await page.waitForSelector('#signed-out')
    }

    const answer = await askFor(app, person, asked, async () => {
      await use('#sign-up')
      await enter({ '#username': ben.username, '#email': ben.email, '#password': ben.password })
      await page.goto(linkIn(await mailbox.next(ben.email)))
      await use('#confirm-link')
      await use('#allow')
    })
    const sub = (await exchange(app, answer)).claims()!.sub

    await page.goto(`${url}/account/security`)
    await use('#add-totp')
    const secret = (await page.textContent('#totp-secret'))!
    await enter({ '#code': codeOf(secret) })
    const codes = await page.locator('#recovery-codes code').allTextContents()
    expect(codes).toHaveLength(10)
    await signOut()
    const demanding = { ...asked, acr_values: '2' }
    const signInWith = async (factor: () => Promise<void>) =>
      exchange(
        app,
        await askFor(app, person, demanding, async () => {
          await enter({ '#username': ben.username, '#password': ben.password })
          await factor()
          await use('#allow')
        }),
      )
    const byApp = await signInWith(async () => enter({ '#code': codeOf(secret, 1) }))
    expect(byApp.claims()).toMatchObject({ sub, acr: '2' })
    await signOut()
    const recovered = await signInWith(async () => {
      await use('#another-way')
      await enter({ '#code': codes[0]! })
    })
    expect(recovered.claims()).toMatchObject({ sub, acr: '2' })

    await page.goto(`${url}/account/linked-sign-ins`)
    await use('#link-corp')
    await enter({ '#username': BOB.username, '#password': BOB.password })
    await use('#allow')
    await page.waitForURL(`${url}/account/linked-sign-ins**`)
    expect(await page.textContent('main')).toContain('It is linked')
    await signOut()
    const byCorp = await exchange(
      app,
      await askFor(app, person, asked, async () => {
        await use('#upstream-corp')
        await use('#another-way')
        await enter({ '#code': codes[1]! })
        await use('#allow')
      }),
    )
    expect(byCorp.claims()).toMatchObject({ sub, acr: '2' })

    await page.goto(`${url}/account/apps`)
    await use('#revoke-0 button')
    await expect
      .poll(
        async () =>
          (await server.get('/userinfo', { authorization: `Bearer ${recovered.access_token}` })).status,
      )
      .toBe(401)
    await page.goto(`${url}/account/email`)
    await enter({ '#email': 'ben@another.example' })
    await page.goto(linkIn(await mailbox.next('ben@another.example')))
    await use('#confirm-link')
    expect((await users.get(sub)).claims['email']).toBe('ben@another.example')
    await page.goto(`${url}/account/data/delete`)
    await use('#delete')
    await page.waitForURL('**/account-deletion')
    expect((await users.get(sub)).deletesAt).not.toBeNull()
  })
})
