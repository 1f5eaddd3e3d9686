/**
 * Who has both a passkey and an authenticator app: either will do, and each page leads to the other.
 * @needs latchkey-second-factor, latchkey-passkeys
 */
import { describe, expect, test } from 'vitest'
import { assertAccessible } from '../../support/accessibility.ts'
import { asksForFactor, codeOf, setUpFactor } from '../../support/authenticator.ts'
import { noBrowser, textOf } from '../../support/browser.ts'
import { newPerson, signIn } from '../../support/people.ts'
import { ALICE, answerOf, authorizationUrl, BOB, goThrough, SEED } from '../../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../../support/user-agent.ts'
import { giveAuthenticator } from '../../support/virtual-authenticator.ts'
import { eventsOf, signedIn } from '../account/owner.ts'
import { addPasskey, signed, signInWith, startAtLocalhost } from '../passkeys/passkeys.ts'

const CARL = { username: 'carl', password: 'a third long password' }
const ERIN = { username: 'erin', password: 'a fifth long password' }
const FELIX = { username: 'felix', password: 'a sixth long password' }
const DORA = { username: 'dora', password: 'a fourth long password' }
const server = await startAtLocalhost({}, { seed: { ...SEED, users: [ALICE, BOB, CARL, DORA, ERIN, FELIX] } })
const { users, sessions } = server.server.oauth
const account = `${server.url}/account`
type Somebody = Pick<typeof ALICE, 'username' | 'password'>

const withPassword = async (
  agent: UserAgent,
  { username, password }: Somebody,
  url = account,
): Promise<Page> => agent.submit(await agent.get(url), 'login', { username, password })
const isIn = ({ body }: Page): boolean => body.includes('signed-in-as')

/** Where `a#another-way` leads. */
async function another(agent: UserAgent, { body }: Page): Promise<Page> {
  const [, href] = /id="another-way" href="([^"]+)"/.exec(body) ?? []
  if (href === undefined) throw new Error(`no other way: ${body}`)
  return agent.get(new URL(href.replaceAll('&amp;', '&'), server.url))
}

test('is asked for the code after the password, and for none after the passkey; for the passkey where that is demanded', async () => {
  const owner = await signedIn(server)
  const { passkey } = await addPasskey(server, owner)
  const { secret } = await setUpFactor(owner, server.url)
  const agent = createUserAgent(server.url)
  const factor = await withPassword(agent, ALICE)
  expect(asksForFactor(factor)).toBe(true)
  const inside = await agent.submit(factor, 'second-factor', { code: codeOf(secret) })
  expect(isIn(inside)).toBe(true)
  const acr = { essential: true, values: ['phr'] }
  const demand = authorizationUrl(server, { claims: JSON.stringify({ id_token: { acr } }) })
  const asked = await agent.get(demand)
  expect([asksForFactor(asked), findForm(asked, 'passkey-form') !== undefined]).toEqual([false, true])
  // Nothing else would do.
  expect(asked.body).not.toContain('another-way')
  const after = await goThrough(agent, await signInWith(agent, asked, passkey))
  expect(answerOf(after).get('code')).toMatch(/./)
  const other = createUserAgent(server.url)
  expect(isIn(await signInWith(other, await other.get(account), passkey))).toBe(true)
})

test('recovery codes that are left of an app that is gone stand in the place of no passkey', async () => {
  const person = { username: 'gina', password: 'a seventh long password' }
  const { id } = await users.create(person)
  const owner = await signedIn(server, person)
  const { passkey } = await addPasskey(server, owner)
  await setUpFactor(owner, server.url)
  await server.database.query('delete from user_records where user_id = $1 and kind = $2', [id, 'authenticator'])
  // What is in memory is read anew.
  await users.update(person.username, { nickname: 'Gina' })
  expect(await users.hasFactors(id)).toBe(false)
  const agent = createUserAgent(server.url)
  const asked = await withPassword(agent, person, authorizationUrl(server, { acr_values: '2' }))
  expect([findForm(asked, 'totp'), findForm(asked, 'passkey-form')]).toEqual([undefined, expect.anything()])
  expect(answerOf(await goThrough(agent, await signInWith(agent, asked, passkey))).get('code')).toMatch(/./)
  // They go with the rest.
  expect(await users.resetFactors(id)).toBe(true)
  expect(await server.database.query('select kind from user_records where user_id = $1', [id])).toEqual([{ kind: 'passkey' }])
}) // prettier-ignore

describe('another way than the code', async () => {
  const owner = await signedIn(server, BOB)
  const { passkey } = await addPasskey(server, owner)
  const { secret, codes } = await setUpFactor(owner, server.url)
  const { id } = (await users.find(BOB.username))!

  test('is the passkey, and it raises the same sign-in to what it reaches; or a recovery code', async () => {
    const agent = createUserAgent(server.url)
    const factor = await withPassword(agent, BOB)
    expect(findForm(factor, 'passkey-form')).toBeUndefined()
    const page = await another(agent, factor)
    expect([page.status, asksForFactor(page), findForm(page, 'passkey-form') !== undefined]).toEqual([
      200,
      true,
      true,
    ])
    expect(isIn(await signInWith(agent, page, passkey))).toBe(true)
    const all = await sessions.list(id)
    expect(all[0]!.amr).toEqual(expect.arrayContaining(['pwd', 'user', 'mfa']))
    expect(all.filter(({ pending }) => pending)).toEqual([])
    const lost = createUserAgent(server.url)
    const recovery = await another(lost, await withPassword(lost, BOB))
    expect(isIn(await lost.submit(recovery, 'second-factor', { code: codes[0]! }))).toBe(true)
  })

  test('leads back to the code, from its page and from the one that refuses a passkey', async () => {
    const agent = createUserAgent(server.url)
    const page = await another(agent, await withPassword(agent, BOB))
    const back = await another(agent, page)
    expect(back.body).toContain('Code of your authenticator app')
    const foreign = (await addPasskey(server, await signedIn(server, DORA))).passkey
    const refused = await signInWith(agent, page, foreign)
    expect([refused.status, refused.body]).toEqual([
      403,
      expect.stringContaining('This passkey cannot be used here'),
    ])
    const told = async () => (await eventsOf(server, 'user.passkey_refused'))[0]?.details
    await expect.poll(told).toEqual({ reason: 'another user' })
    expect(isIn(await agent.get(account))).toBe(false)
    // One that asks for nothing is not enough, as it would not be by itself.
    const touched = await signInWith(agent, await another(agent, back), passkey, { verifies: false })
    expect([touched.status, isIn(await agent.get(account))]).toEqual([403, false])
    const code = await another(agent, touched)
    expect(isIn(await agent.submit(code, 'second-factor', { code: codeOf(secret) }))).toBe(true)
  })

  test('of two at once leads both on; one that is sent again later, when it is done, too', async () => {
    const agent = createUserAgent(server.url)
    const page = await another(agent, await withPassword(agent, BOB))
    const fields = { credential: signed(page, passkey) }
    const [twice, later] = [agent.clone(), agent.clone()]
    const send = async (one: UserAgent): Promise<Page> => one.submit(page, 'passkey-form', fields)
    const sent = await Promise.all([agent, twice].map(send))
    expect([...sent, await send(later)].map((one) => [one.status, isIn(one)])).toEqual([
      [200, true],
      [200, true],
      [200, true],
    ])
  })

  test('is no way around what is asked of an app, nor for who has no passkey or is not asked', async () => {
    const carl = await signedIn(server, CARL)
    const factor = await setUpFactor(carl, server.url)
    const agent = createUserAgent(server.url)
    const asked = await withPassword(agent, CARL)
    expect(asked.body).toContain('Use a recovery code')
    const recovery = await another(agent, asked)
    expect(findForm(recovery, 'passkey-form')).toBeUndefined()
    // A form of it that somebody makes up is not looked at.
    const { action, fields } = findForm(asked, 'second-factor')!
    const forged = action.replace('/factor?', '/passkey-step?')
    const noted = async () =>
      server.database.query(
        `select hash, value from artifacts where kind = 'interaction-progress' order by hash`,
      )
    const before = await noted()
    const page = await agent.post(forged, { ...fields, issued: 'x', credential: '{}' })
    expect(await noted()).toEqual(before)
    expect([page.status, asksForFactor(page)]).toEqual([200, true])
    expect(isIn(await agent.submit(page, 'second-factor', { code: codeOf(factor.secret) }))).toBe(true)
  })
})

describe.skipIf(noBrowser)('in a browser', () => {
  test('another way than the code leads to the passkey, which signs in, and back to the code', async () => {
    const { secret } = await setUpFactor(await signedIn(server, ERIN), server.url)
    const person = await newPerson()
    const { page, said } = person
    const { cdp, authenticatorId } = await giveAuthenticator(person)
    /** Whether they are there to touch it: else the browser would sign them in by itself on the sign-in page. */
    const isThere = async (enabled: boolean) =>
      cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled })
    await page.goto(`${account}/security`)
    await signIn(person, ERIN)
    await page.fill('#code', codeOf(secret))
    await page.click('#verify')
    await page.click('#add-passkey')
    await page.waitForSelector('#passkeys-done.success')
    await isThere(false)
    await page.click('#sign-out-here')
    await page.waitForSelector('#signed-out')

    // Whether a page asks for what browsers suggest by themselves.
    await page.addInitScript(`(() => {
      const { isConditionalMediationAvailable: ask } = PublicKeyCredential
      globalThis.suggests = false
      PublicKeyCredential.isConditionalMediationAvailable = () => (globalThis.suggests = true) && ask.call(PublicKeyCredential)
    })()`)
    await page.goto(`${account}/profile`)
    await page.waitForSelector('#passkey')
    expect(await page.evaluate('suggests')).toBe(true)
    await signIn(person, ERIN)
    await page.click('#another-way')
    await page.waitForSelector('#second-factor #code[autocomplete=off]')
    await page.waitForSelector('#passkey')
    expect(await page.evaluate('suggests')).toBe(false)
    await assertAccessible(page, 'another way')
    await page.click('#another-way')
    await page.waitForSelector('#code[autocomplete=one-time-code]')
    await page.waitForLoadState()
    expect(await page.locator('#passkey').count()).toBe(0)
    await page.click('#another-way')
    await isThere(true)
    await page.click('#passkey')
    await page.waitForURL(`${account}/profile`)
    expect(await page.textContent('#signed-in-as')).toBe(ERIN.username)
    expect(said).toEqual([])
  })

  test('without scripts it says what a passkey needs, and the codes do', async () => {
    const owner = await signedIn(server, FELIX)
    await addPasskey(server, owner)
    const { secret } = await setUpFactor(owner, server.url)
    const person = await newPerson({ javaScriptEnabled: false })
    const { page } = person
    await page.goto(`${account}/profile`)
    await signIn(person, FELIX)
    await page.click('#another-way')
    await page.waitForSelector('#second-factor')
    expect(await textOf(page, 'main')).toContain('A passkey needs JavaScript, which is off in this browser.')
    expect(await page.isVisible('#passkey')).toBe(false)
    await page.click('#another-way')
    await page.fill('#code', codeOf(secret))
    await page.click('#verify')
    await page.waitForURL(`${account}/profile`)
    await page.goto(
      authorizationUrl(server, {
        claims: JSON.stringify({ id_token: { acr: { essential: true, values: ['phr'] } } }),
      }),
    )
    expect(await page.textContent('main')).toContain('This needs JavaScript, which is off in this browser.')
  })
})
