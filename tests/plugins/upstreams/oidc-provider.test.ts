/**
 * Somebody else's OpenID provider (npm oidc-provider) as an upstream, in Chromium: linked by who is signed in, used from then on, and left.
 * @needs latchkey-upstreams
 */
import { describe, expect, test } from 'vitest'
import { noBrowser } from '../../support/browser.ts'
import { readWithoutFonts, signInThere, startOidcProvider } from '../../support/oidc-provider.ts'
import { newPerson, signIn } from '../../support/people.ts'
import { startServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import { ALICE, BOB, SEED } from '../../support/sign-in.ts'

const PORT = await freePort()
const url = `http://127.0.0.1:${PORT}`
const provider = await startOidcProvider('op', url)
const upstream = { ...provider, id: 'op', name: 'The other provider', sign_out: true }
const server = await startServer(
  { PORT, UNSAFE_OUTBOUND_ORIGINS: provider.issuer },
  { seed: { ...SEED, upstreams: [upstream] } },
)
const { users } = server.server.oauth

describe.skipIf(noBrowser)('in a browser', () => {
  test.each([
    ['with scripts', ALICE, true],
    ['without scripts', BOB, false],
  ])('%s it is linked, signs in by its button, and is left with us', async (_how, user, javaScriptEnabled) => {
    const person = await newPerson({ javaScriptEnabled })
    const { page, said } = person
    await readWithoutFonts(page)
    const there = `${user.username}-there`
    const isOn = async (origin: string) => page.waitForURL((at) => at.origin === origin)

    // The first time: by who is signed in.
    await page.goto(`${url}/account/linked-sign-ins`)
    await signIn(person, user)
    await page.click('#link-op')
    await isOn(provider.issuer)
    await signInThere(page, there)
    // It asks whether we may know.
    await page.click('button[type=submit]')
    await page.waitForURL(`${url}/account/linked-sign-ins**`)
    expect(await page.textContent('main')).toContain('It is linked')
    const { id } = (await users.find(user.username))!
    expect(await users.waysIn(id)).toContain('upstream-link')

    // Who came by a password is not led there, and is signed in there still: the button is enough.
    await page.goto(`${url}/account`)
    await page.click('#sign-out-here')
    await page.waitForSelector('#signed-out')
    await page.goto(`${url}/account/profile`)
    await page.click('#upstream-op')
    await page.waitForURL(`${url}/account/profile`)
    expect(await page.textContent('#signed-in-as')).toContain(user.username)
    expect(await users.find(there)).toBeNull()

    // Out at both.
    await page.click('#sign-out-here')
    await isOn(provider.issuer)
    await page.click('button[name=logout]')
    await page.waitForSelector('#signed-out')
    expect(new URL(page.url()).origin).toBe(url)
    await page.goto(`${url}/account`)
    expect(await page.isVisible('#login')).toBe(true)
    await page.click('#upstream-op')
    await isOn(provider.issuer)
    expect(await page.isVisible('input[name=login]')).toBe(true)
    expect(said).toEqual([])
  })
}) // prettier-ignore
