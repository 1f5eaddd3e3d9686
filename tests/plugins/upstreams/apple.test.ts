/**
 * Apple as an upstream, as its documentation says that it answers: its JWT in the place of a secret, its form from another site, and the name that it says
 * once.
 * @needs latchkey-upstreams
 */
import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { startApple } from '../../support/apple.ts'
import { noBrowser } from '../../support/browser.ts'
import { newPerson } from '../../support/people.ts'
import { startServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import { answerOf, authorizationUrl, SEED } from '../../support/sign-in.ts'
import { allow } from '../../support/upstreams.ts'
import { createUserAgent, type Page, type UserAgent } from '../../support/user-agent.ts'

const port = await freePort()
const url = `http://127.0.0.1:${port}`
const callback = `${url}/upstream/apple/callback`
const person = (sub: string, firstName: string, lastName: string) => ({
  sub,
  email: `${sub}@privaterelay.appleid.com`,
  firstName,
  lastName,
})
const apple = await startApple(
  [
    person('ada', 'Ada', 'Lovelace'),
    person('ben', ' Ben ', ''),
    person('eve', 'Eve', 'X'),
    person('zoe', 'Zoë', '"Q" & <b>'),
    person('max', 'Max', 'M'),
  ],
  callback,
)
const believed = { domains: ['privaterelay.appleid.com'], trust_email: true }
const { registered } = apple
const server = await startServer(
  { PORT: port, UNSAFE_OUTBOUND_ORIGINS: apple.issuer },
  {
    seed: {
      ...SEED,
      upstreams: [
        { id: 'apple', ...registered, ...believed },
        { id: 'corp', issuer: 'https://id.corp.example', client_id: 'us' },
      ],
    },
  },
)
const { users } = server.server.oauth
const { upstreams } = kernelOf(server.server)
const errorOn = ({ body }: Page): string | undefined =>
  /id="upstreams-error"[^>]*>(.*?)<\/p>/.exec(body)?.[1]?.replaceAll(/<\/?bdi>/g, '')

async function leave(agent = createUserAgent(url)) {
  const page = await agent.get(authorizationUrl(server, { scope: 'openid profile email' }))
  return { agent, left: await agent.submit(page, 'upstreams', { upstream: 'apple' }) }
}

/** As browsers send a form of another site: without cookies that are `SameSite=Lax`. Where it leads, which nobody has opened yet. */
async function sent({ action, fields }: { action: string; fields: Record<string, string> }) {
  const body = new URLSearchParams(fields)
  return fetch(action, { method: 'POST', body, redirect: 'manual', headers: { origin: apple.issuer } })
}

async function comeBy(sub: string, agent?: UserAgent) {
  const { left, agent: who } = await leave(agent)
  const answer = await sent(await apple.agree(left, sub))
  return { agent: who, answer, page: await who.get(new URL(answer.headers.get('location')!, url)) }
}

describe('a sign-in by Apple', () => {
  test('asks for a form, is shown a JWT of the key, and makes an account with the name that is said once', async () => {
    const { left, agent } = await leave()
    const asked = new URL(left.headers.get('location')!).searchParams
    expect([asked.get('scope'), asked.get('response_mode')]).toEqual(['name email', 'form_post'])
    const form = await apple.agree(left, 'ada')
    expect(JSON.parse(form.fields['user']!)).toMatchObject({ name: { firstName: 'Ada' } })
    const answer = await sent(form)
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([303, []])
    const location = answer.headers.get('location')!
    // Neither history nor logs have what it says of them.
    expect(decodeURIComponent(location)).not.toMatch(/Ada|Lovelace|privaterelay/)
    answerOf(await allow(agent, await agent.get(new URL(location, url))))
    const user = (await users.findByEmail('ada@privaterelay.appleid.com'))!
    expect(user.claims).toMatchObject({
      name: 'Ada Lovelace',
      given_name: 'Ada',
      family_name: 'Lovelace',
      email_verified: true,
    })
    const [link] = await server.server.linkedSignIns.list(user.id)
    expect(link!.value).toMatchObject({ upstream: 'apple', issuer: apple.issuer, subject: 'ada' })
    const secret = apple.secrets.at(-1) as { iat: number; exp: number }
    expect(secret.exp - secret.iat).toBe(300)
    const token = apple.received.find(({ url: at }) => at === '/auth/token')!
    expect(token.headers).not.toHaveProperty('authorization')
  })

  test('the next time is the same account, without the name', async () => {
    const { agent, page } = await comeBy('ada')
    answerOf(await allow(agent, page))
    expect((await users.search('ada@privaterelay')).found).toHaveLength(1)
  })

  test.each([
    ['half a name', 'ben', { name: 'Ben', given_name: 'Ben' }],
    [
      'a name of any characters',
      'zoe',
      { name: 'Zoë "Q" & <b>', given_name: 'Zoë', family_name: '"Q" & <b>' },
    ],
  ])('%s is taken as it is', async (_what, sub, claims) => {
    await comeBy(sub)
    const user = (await users.findByEmail(`${sub}@privaterelay.appleid.com`))!
    const { email: _email, email_verified: _verified, ...said } = user.claims
    expect(said).toEqual(claims)
  })

  test('who cancels reads so', async () => {
    const { page } = await comeBy('')
    expect(errorOn(page)).toMatch(/^You did not sign in at localhost/)
  })
})

describe('the form of another site', () => {
  test('signs nobody in with another browser, and no name goes to another answer', async () => {
    const first = await leave()
    const form = await apple.agree(first.left, 'eve')
    const location = new URL((await sent(form)).headers.get('location')!, url)
    const other = await createUserAgent(url).get(location)
    expect([other.status, other.body]).toEqual([400, expect.stringContaining('This sign-in has ended')])
    // What was sealed for one answer says nothing in another.
    const second = await leave()
    const own = new URL((await sent(await apple.agree(second.left, 'max'))).headers.get('location')!, url)
    own.searchParams.set('user', location.searchParams.get('user')!)
    answerOf(await allow(second.agent, await second.agent.get(own)))
    const max = (await users.findByEmail('max@privaterelay.appleid.com'))!
    expect(max.claims).not.toHaveProperty('name')
  })

  test.each(['', 'x', '{"name":{"firstName":"Made up"}}', '.', 'a.b.c', '\0', 'é'.repeat(500)])(
    'is the only way in which a name comes: %j in the address is none',
    async (user) => {
      const had = await users.findByEmail('max@privaterelay.appleid.com')
      if (had !== null) await users.delete(had.username)
      const { left, agent } = await leave()
      const location = new URL((await sent(await apple.agree(left, 'max'))).headers.get('location')!, url)
      location.searchParams.set('user', user)
      const page = await agent.get(location)
      expect(page.status).toBeLessThan(500)
      expect((await users.findByEmail('max@privaterelay.appleid.com'))?.claims ?? {}).not.toHaveProperty(
        'name',
      )
    },
  )

  test.each([
    ['nothing', {}, 400],
    ['an answer that nobody waits for', { code: 'c', state: 's' }, 400],
    ['a user that is no JSON', { code: 'c', state: 's', user: '{' }, 400],
    ['a state with line breaks', { code: 'c', state: 'a\r\nset-cookie: b=c' }, 400],
  ])('with %s is no sign-in and no error of ours', async (_what, fields, status) => {
    const answer = await sent({ action: callback, fields })
    const { pathname } = new URL(answer.headers.get('location')!, url)
    expect([answer.status, pathname]).toEqual([303, '/upstream/apple/callback'])
    expect((await createUserAgent(url).get(new URL(answer.headers.get('location')!, url))).status).toBe(
      status,
    )
  })

  test.each([
    ['far too long a user', '/upstream/apple/callback', { code: 'c', state: 's', user: 'x'.repeat(3000) }],
    ['an upstream that answers by GET', '/upstream/corp/callback', { code: 'c', state: 's' }],
    ['an upstream that is not there', '/upstream/nobody/callback', { code: 'c', state: 's' }],
  ])('with %s leads nowhere', async (_what, path, fields) => {
    const answer = await sent({ action: url + path, fields })
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null])
  })
})

describe('its key', () => {
  const other = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  test.each([
    ['text', 'a secret'],
    ['another curve', other.export({ format: 'pem', type: 'pkcs8' })],
    ['another kind', rsa.export({ format: 'pem', type: 'pkcs8' })],
  ])('that is %s is refused', async (_what, client_secret) => {
    const save = upstreams.save({ id: 'new', ...registered, client_secret }, { isNew: true })
    await expect(save).rejects.toThrow('client_secret must be the key that Apple gave you')
  })

  test('is all that a team, a key and a Services ID need beside; each is missed by its name', async () => {
    const { issuer: _known, ...enough } = registered
    await upstreams.save({ id: 'new', ...enough }, { isNew: true })
    expect(await upstreams.find('new')).toMatchObject({ issuer: 'https://appleid.apple.com' })
    await upstreams.delete('new')
    for (const name of ['team_id', 'key_id', 'client_secret'])
      await expect(upstreams.save({ id: 'new', ...enough, [name]: null })).rejects.toThrow(
        `${name} is missing`,
      )
  })

  test('without its line breaks, as a field of a page leaves it, is the same', async () => {
    await upstreams.save({ id: 'apple', client_secret: registered.client_secret.replaceAll('\n', '') })
    const { agent, page } = await comeBy('ada')
    answerOf(await allow(agent, page))
  })

  test('that Apple does not know is said in the log, and the key is not', async () => {
    await upstreams.save({ id: 'apple', key_id: 'ANOTHER001' })
    const { page } = await comeBy('ada')
    await upstreams.save({ id: 'apple', key_id: registered.key_id })
    expect(errorOn(page)).toContain('could not read the answer')
    expect(server.output()).toContain('invalid_client')
    expect(server.output()).not.toContain(registered.client_secret.split('\n')[1])
  })
})

test.skipIf(noBrowser)(
  'in a browser, the form of another site brings its cookies by the way on',
  async () => {
    const { page, said } = await newPerson()
    await page.goto(`${url}/account/linked-sign-ins`)
    await page.click('#upstream-apple')
    await page.waitForURL(`${apple.issuer}/auth/authorize**`)
    await page.click('text=Continue as eve')
    await page.click('text=Go on')
    await page.waitForURL(`${url}/account/linked-sign-ins`)
    expect(await page.textContent('main')).toContain('As eve@privaterelay.appleid.com')
    expect(said).toEqual([])
  },
)

test('a key is told to nobody as a secret: another kind gets a secret of its own, and Apple a key', async () => {
  const { team_id: _team, key_id: _key, ...others } = registered
  await upstreams.save({ ...registered, id: 'turned' })
  const ofAnother = { id: 'turned', kind: 'openid', issuer: 'https://id.elsewhere.example', team_id: null, key_id: null }
  await expect(upstreams.save(ofAnother)).rejects.toThrow('client_secret is missing')
  await upstreams.save({ ...ofAnother, client_secret: null })
  await upstreams.save({ ...ofAnother, client_secret: 'a secret' })
  await expect(upstreams.save({ id: 'turned', kind: 'apple', team_id: 'T', key_id: 'K' })).rejects.toThrow('client_secret is missing')
  await upstreams.save({ ...others, id: 'turned', team_id: 'T', key_id: 'K' })
  await upstreams.delete('turned')
}) // prettier-ignore
