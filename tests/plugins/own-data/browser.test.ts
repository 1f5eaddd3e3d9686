/**
 * A person at a browser deletes their account, changes their mind, and keeps it: with scripts, and without.
 * @needs latchkey-own-data
 */
import { describe, expect, test } from 'vitest'
import { assertAccessible } from '../../support/accessibility.ts'
import { noBrowser } from '../../support/browser.ts'
import { openSignedIn, signIn } from '../../support/people.ts'
import { startServer } from '../../support/server.ts'
import { SEED } from '../../support/sign-in.ts'
import { PASSWORD, somebody } from './people.ts'

const server = await startServer({}, { seed: SEED })
const { users } = server.server.oauth

describe.skipIf(noBrowser)('in a browser', () => {
  test.each([true, false])('deletes the account, is signed out, signs in, and keeps it; scripts: %s', async (javaScriptEnabled) => {
    const user = await somebody(server, { nickname: 'Al', roles: ['staff'] })
    const credentials = { username: user.username, password: PASSWORD }
    const person = await openSignedIn(`${server.url}/account`, credentials, { javaScriptEnabled })
    const { page, said } = person
    const look = async (what: string) => (javaScriptEnabled ? assertAccessible(page, what) : undefined)
    await page.click('a[href$="/account/data"]')
    await look('data')
    await page.click('#delete-account-link')
    await look('deletion')
    await page.click('#delete')
    await page.waitForURL('**/account-deletion')
    await look('asked')
    await page.goto(`${server.url}/account/profile`)
    await signIn(person, credentials)
    await page.waitForSelector('#keep')
    await look('kept?')
    await page.goto(`${server.url}/account/apps`)
    await page.waitForSelector('#keep')
    await page.click('#keep')
    await page.waitForSelector('#kept')
    await look('kept')
    await page.click('#keep')
    await page.waitForURL('**/account/apps')
    expect(await page.isVisible('#signed-in-as')).toBe(true)
    expect(await users.get(user.id)).toEqual({ ...user, endedAt: expect.any(Number) })
    expect(said).toEqual([])
    await page.context().close()
  })

  test('lets it be deleted, and is signed out', async () => {
    const user = await somebody(server)
    const credentials = { username: user.username, password: PASSWORD }
    const person = await openSignedIn(`${server.url}/account`, credentials)
    await person.page.goto(`${server.url}/account/data/delete`)
    await person.page.click('#delete')
    await person.page.waitForURL('**/account-deletion')
    await person.page.goto(`${server.url}/account`)
    await signIn(person, credentials)
    await person.page.click('#leave-deletion')
    await person.page.waitForSelector('#signed-out')
    await person.page.goto(`${server.url}/account`)
    await person.page.waitForSelector('#login')
    expect((await users.get(user.id)).deletesAt).not.toBeNull()
    await person.page.context().close()
  })
}) // prettier-ignore
