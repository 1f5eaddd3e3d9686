/**
 * Signing in with a passkey, without a browser: what is taken, what is refused, and that nothing is taken twice.
 * @needs latchkey-passkeys
 */
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { spawnBeside } from '../../support/beside.ts'
import { isThere } from '../../support/left-out.ts'
import { ALICE, answerOf, authorizationUrl, BOB, exchange, goThrough } from '../../support/sign-in.ts'
import { cbor, makePasskey, type SoftPasskey } from '../../support/soft-authenticator.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../../support/user-agent.ts'
import { age, signedIn } from '../account/owner.ts'
import { addPasskey, formOf, optionsIn, signed, signInWith, startAtLocalhost } from './passkeys.ts'

const server = await startAtLocalhost()
const { oauth } = server.server
let alices: SoftPasskey
let bobs: SoftPasskey
/** Why passkeys were refused, and whose, as the audit log was told. */
const refusals: string[] = []
oauth.audit.on('user.passkey_refused', ({ user, details }) => refusals.push(`${user} ${details.reason}`))
const refused = async (username: string, reason: string): Promise<string> =>
  `${(await oauth.users.find(username))!.id} ${reason}`

afterEach(() => {
  vi.useRealTimers()
  refusals.length = 0
})

const newAgent = (): UserAgent => createUserAgent(server.url)
const signInPage = async (agent: UserAgent): Promise<Page> => agent.get(`${server.url}/account/profile`)
const claimsIn = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>

beforeAll(async () => {
  alices = (await addPasskey(server, await signedIn(server))).passkey
  bobs = (await addPasskey(server, await signedIn(server, BOB))).passkey
})

test('is added with what tells nobody who it is of, for this host, and found without a user name', async () => {
  const agent = await signedIn(server)
  const options = optionsIn(await agent.get(`${server.url}/account/security`), 'add-passkey-form')
  const { id } = (await oauth.users.find('alice'))!
  expect(options).toMatchObject({
    rp: { id: 'localhost' },
    user: { name: 'alice', displayName: ALICE.name },
    attestation: 'none',
    excludeCredentials: [{ id: alices.id }],
    authenticatorSelection: { residentKey: 'required', userVerification: 'preferred' },
  })
  expect(Buffer.from(options.user.id, 'base64url')).toHaveLength(32)
  expect(options.user.id).not.toContain(id)
  expect(Buffer.from(options.challenge, 'base64url').length).toBeGreaterThanOrEqual(32)
  const again = optionsIn(await agent.get(`${server.url}/account/security`), 'add-passkey-form')
  expect([again.user.id, again.challenge === options.challenge]).toEqual([options.user.id, false])
}) // prettier-ignore

test('the sign-in page offers it beside the password, and suggestions at the user name; the button waits for a script', async () => {
  const page = await signInPage(newAgent())
  expect(page.body).toMatch(/<input id="username"[^>]* autocomplete="username webauthn"/)
  expect(page.body).toMatch(/<form id="passkey-form"[^>]* hidden>/)
  expect(page.body).toContain('id="passkey"')
  expect(optionsIn(page, 'passkey-form')).toMatchObject({
    rpId: 'localhost',
    userVerification: 'preferred',
    allowCredentials: [],
  })
  const again = await signInPage(newAgent())
  expect(optionsIn(again, 'passkey-form').challenge).not.toBe(optionsIn(page, 'passkey-form').challenge)
}) // prettier-ignore

test('signs in to an app: a passkey that verified its user is phr, with the factors of RFC 8176', async () => {
  const agent = newAgent()
  const page = await agent.get(authorizationUrl(server, { acr_values: 'phr' }))
  expect(optionsIn(page, 'passkey-form').userVerification).toBe('required')
  const answer = answerOf(await goThrough(agent, await signInWith(agent, page, alices)))
  const tokens = (await (await exchange(server, answer.get('code') ?? '')).json()) as { id_token: string }
  expect(claimsIn(tokens.id_token)).toMatchObject({ acr: 'phr', amr: ['hwk', 'user', 'mfa'] })
})

test('one that was only touched is one factor; one that is synced is of software', async () => {
  const agent = await signedIn(server, BOB)
  const { passkey } = await addPasskey(server, agent, { syncable: true, synced: true })
  const other = newAgent()
  const page = await other.get(authorizationUrl(server))
  const after = await signInWith(other, page, passkey, { syncable: true, synced: false, verifies: false })
  const tokens = (await (await exchange(server, answerOf(await goThrough(other, after)).get('code') ?? '')).json()) as { id_token: string } // prettier-ignore
  expect(claimsIn(tokens.id_token)).toMatchObject({ acr: '1', amr: ['swk', 'user'] })
  const { id } = (await oauth.users.find('bob'))!
  const known = (await server.server.passkeys.list(id)).find((one) => one.id === passkey.id)!
  expect(known.value).toMatchObject({ name: 'Passkey 2', syncable: true, synced: false, usedAt: expect.any(Number) })
}) // prettier-ignore

test.each([
  ['of another origin', { origin: 'https://evil.example' }],
  ['of this host at another port', { origin: 'http://localhost:1' }],
  ['for another host', { rpId: 'evil.example' }],
  ['with a challenge of its own', { challenge: Buffer.alloc(32).toString('base64url') }],
  ['that is of the other ceremony', { type: 'webauthn.create' }],
  ['of another user handle', { userHandle: Buffer.alloc(32).toString('base64url') }],
  ['that may be copied all of a sudden', { syncable: true }],
])('an assertion %s is refused by the one text, and told of', async (_what, behaviour) => {
  const agent = newAgent()
  const page = await signInWith(agent, await signInPage(agent), alices, behaviour)
  expect([page.status, page.body]).toEqual([403, expect.stringMatching(/id="login-error"[^>]*>This passkey cannot be used here\. Choose another/)])
  expect(page.body).toMatch(/<title>Error: /)
  expect((await agent.get(`${server.url}/account`)).url).toContain('/sign-in')
  expect(refusals).toEqual([await refused('alice', 'proof')])
}) // prettier-ignore

test('a signature that was tampered with is refused, as is one of another passkey', async () => {
  for (const change of [
    (sent: Sent) => ({
      ...sent,
      response: { ...sent.response, signature: flipped(sent.response.signature) },
    }),
    (sent: Sent) => ({ ...sent, id: bobs.id, rawId: bobs.id }),
  ]) {
    const agent = newAgent()
    const page = await signInPage(agent)
    const credential = JSON.stringify(change(JSON.parse(signed(page, alices)) as Sent))
    expect((await agent.submit(page, 'passkey-form', { credential })).status).toBe(403)
  }
})

test('one that nobody has is refused by the same text, and its authenticator may forget it', async () => {
  const agent = newAgent()
  const page = await signInPage(agent)
  const { passkey } = makePasskey(
    { challenge: 'none', rp: { id: 'localhost', name: '' }, user: { id: 'nobody', name: '', displayName: '' }, excludeCredentials: [] },
    { origin: server.url },
  )
  const refused = await signInWith(agent, page, passkey)
  expect([refused.status, refused.body]).toEqual([403, expect.stringContaining('This passkey cannot be used here.')])
  expect(refused.body).toContain(`data-unknown="${passkey.id}"`)
}) // prettier-ignore

test('a challenge is of one sign-in page of one browser: that of another is refused', async () => {
  const [victim, thief] = [newAgent(), newAgent()]
  const [theirs, own] = [await signInPage(victim), await signInPage(thief)]
  const { issued } = formOf(theirs).fields
  const credential = signed(theirs, alices)
  expect((await thief.submit(own, 'passkey-form', { credential })).status).toBe(403)
  expect((await thief.submit(own, 'passkey-form', { credential, issued: issued! })).status).toBe(403)
  expect((await thief.post(formOf(theirs).action, { ...formOf(theirs).fields, credential })).status).toBe(403)
})

test('a challenge is good once, and not after its time', async () => {
  const agent = newAgent()
  const page = await signInPage(agent)
  const credential = signed(page, alices)
  const stranger = agent.clone()
  expect((await agent.submit(page, 'passkey-form', { credential })).url).toBe(`${server.url}/account/profile`)
  const twice = await stranger.submit(page, 'passkey-form', { credential })
  expect([twice.status, twice.body]).toEqual([403, expect.stringContaining('took too long, or was sent twice')])

  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 901_000 })
  const late = await signInPage(stranger)
  vi.useRealTimers()
  // By a poll of that time, the server's memory is 15 minutes old, and nothing is decided from it (503): the next one mends that.
  const [{ feed }, back] = [kernelOf(server.server), Date.now()]
  await expect.poll(() => Math.round(Date.now() - feed.age()! * 1000)).toBeGreaterThanOrEqual(back)
  const again = await signInWith(stranger, late, alices)
  expect([again.status, again.body]).toEqual([403, expect.stringContaining('took too long')])
  // With a new challenge, which is good.
  expect((await signInWith(stranger, again, alices)).url).toBe(`${server.url}/account/profile`)
}) // prettier-ignore

test('of one answer that comes to two processes at once, one signs in', async () => {
  const beside = await spawnBeside(server.settings, server.database)
  const agent = newAgent()
  const page = await signInPage(agent)
  const credential = signed(page, alices)
  const { action, fields } = formOf(page)
  const ports = [server.settings.PORT, beside.settings.PORT]
  const cookie = [...agent.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const answers = await Promise.all(
    Array.from({ length: 8 }, async (_, at) =>
      fetch(action.replace(/:\d+\//, `:${ports[at % 2]}/`), {
        method: 'POST',
        redirect: 'manual',
        headers: { cookie, origin: server.url, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ ...fields, credential }),
      }),
    ),
  )
  const sessions = answers.filter(({ headers }) => headers.getSetCookie().some((line) => line.startsWith('latchkey-session='))) // prettier-ignore
  expect(answers.map(({ status }) => status).filter((status) => status >= 500)).toEqual([])
  expect(sessions).toHaveLength(1)
})

test('a counter that went back is refused and told of; what always says 0 is not', async () => {
  const { passkey } = await addPasskey(server, await signedIn(server), { counter: 5 })
  const counted = await refused('alice', 'counter')
  const tries = []
  for (const counter of [6, 6, 4, 7]) {
    const agent = newAgent()
    tries.push((await signInWith(agent, await signInPage(agent), passkey, { counter })).status)
  }
  expect(tries).toEqual([200, 403, 403, 200])
  expect(refusals).toEqual(Array.from({ length: 2 }, () => counted))
  const agent = newAgent()
  expect((await signInWith(agent, await signInPage(agent), alices)).status).toBe(200)
})

test('a counter that went back says nothing where the signature does not hold', async () => {
  const { passkey } = await addPasskey(server, await signedIn(server), { counter: 5 })
  const agent = newAgent()
  const page = await signInPage(agent)
  const sent = JSON.parse(signed(page, passkey, { counter: 1 })) as Sent
  const response = { ...sent.response, signature: flipped(sent.response.signature) }
  await agent.submit(page, 'passkey-form', { credential: JSON.stringify({ ...sent, response }) })
  expect(refusals).toEqual([await refused('alice', 'proof')])
})

test('who is disabled is refused by the one text', async () => {
  await oauth.users.disable('alice')
  const agent = newAgent()
  const page = await signInWith(agent, await signInPage(agent), alices)
  expect([page.status, page.body]).toEqual([
    403,
    expect.stringContaining('This passkey cannot be used here.'),
  ])
  await oauth.users.enable('alice')
  expect((await signInWith(agent, await signInPage(agent), alices)).status).toBe(200)
})

test.each(['prompt=login', 'max_age=0'])(
  'who has to show once more that it is them (%s) does so by a passkey of theirs, and nobody else’s is taken',
  async (asked) => {
    const agent = await signedIn(server)
    const url = `${authorizationUrl(server)}&${asked}`
    const page = await agent.get(url)
    const { allowCredentials } = optionsIn(page, 'passkey-form')
    expect(allowCredentials.map(({ id }) => id)).toContain(alices.id)
    expect(allowCredentials.map(({ id }) => id)).not.toContain(bobs.id)
    const again = await signInWith(agent, page, bobs)
    expect([again.status, again.body]).toEqual([403, expect.stringContaining('This passkey cannot be used here.')]) // prettier-ignore
    expect(refusals).toEqual([await refused('bob', 'another user')])
    const answer = answerOf(await goThrough(agent, await signInWith(agent, again, alices)))
    expect(answer.get('code')).toMatch(/./)
  },
)

test('who has none is not offered it where they show once more that it is them', async () => {
  await oauth.users.create({ username: 'dora', password: 'the long password of Dora' })
  const agent = await signedIn(server, { username: 'dora', password: 'the long password of Dora' })
  const page = await agent.get(`${authorizationUrl(server)}&prompt=login`)
  expect([findForm(page, 'login') === undefined, findForm(page, 'passkey-form')]).toEqual([false, undefined])
})

test('an id_token_hint is for its user: another one’s passkey does not answer it', async () => {
  const agent = newAgent()
  const first = await signInWith(agent, await agent.get(authorizationUrl(server)), alices)
  const { id_token } = (await (await exchange(server, answerOf(await goThrough(agent, first)).get('code') ?? '')).json()) as { id_token: string } // prettier-ignore
  const hinted = authorizationUrl(server, { id_token_hint: id_token })
  const other = newAgent()
  const refused = await signInWith(other, await other.get(hinted), bobs)
  expect(answerOf(refused).get('error')).toBe('login_required')
  const again = newAgent()
  const page = await signInWith(again, await again.get(hinted), alices)
  expect(answerOf(await goThrough(again, page)).get('code')).toMatch(/./)
})

test.each([
  ['no JSON', '{'],
  ['no object', '[]'],
  ['nothing', ''],
  ['null', 'null'],
  ['members that are not text', JSON.stringify({ id: 1, response: {} })],
  ['no response', JSON.stringify({ id: 'a'.repeat(43) })],
  ['names of the prototype', '{"id":"constructorconstructorxx","response":{"__proto__":{},"constructor":{},"clientDataJSON":"e30","authenticatorData":"AAAA","signature":"AAAA"}}'],
  ['an id of the prototype', JSON.stringify({ id: '__proto__', response: { clientDataJSON: 'e30', authenticatorData: 'AAAA', signature: 'AAAA' } })],
  ['client data that are no JSON', withResponse({ clientDataJSON: 'AAAA' })],
  ['client data that are null', withResponse({ clientDataJSON: Buffer.from('null').toString('base64url') })],
  ['data that are too short', withResponse({ authenticatorData: 'AAAA' })],
  ['data with CBOR that is none', withResponse({ authenticatorData: Buffer.alloc(200, 0xff).toString('base64url') })],
  ['nesting', '['.repeat(4000)],
  ['a null where something is missing', withResponse({ userHandle: null })],
])('%s is refused, and nothing fails here', async (_what, credential) => {
  const agent = newAgent()
  const page = await agent.submit(await signInPage(agent), 'passkey-form', { credential })
  expect([page.status, page.body]).toEqual([403, expect.stringContaining('This passkey cannot be used here.')])
}) // prettier-ignore

test('what is too long is refused before it is read', async () => {
  const agent = newAgent()
  const page = await agent.submit(await signInPage(agent), 'passkey-form', {
    credential: 'x'.repeat(100_000),
  })
  expect([400, 413]).toContain(page.status)
})

test('an attestation that names certificates is not looked at: none was asked for', async () => {
  const statement = new Map<string, unknown>([['alg', -7], ['sig', Buffer.alloc(70)], ['x5c', [Buffer.alloc(300)]]]) // prettier-ignore
  const { page } = await addPasskey(server, await signedIn(server), { statement: ['packed', statement] })
  expect(page.body).toContain('The passkey is added')
  expect(cbor(statement).length).toBeGreaterThan(300)
})

test('a failure at many passkeys is throttled with the form, which comes again', async () => {
  const own = await startAtLocalhost()
  const agent = createUserAgent(own.url)
  const page = await agent.get(`${own.url}/account`)
  const statuses = new Set<number>()
  let last = page
  for (let tries = 0; tries < 61 && !statuses.has(429); tries++) {
    last = await agent.submit(page, 'passkey-form', { credential: withResponse({}) })
    statuses.add(last.status)
  }
  expect([...statuses]).toEqual([403, 429])
  expect(last.headers.get('retry-after')).toMatch(/^\d+$/)
  expect([findForm(last, 'login') === undefined, findForm(last, 'passkey-form') === undefined]).toEqual([false, false])
}) // prettier-ignore

test('the account is entered by it, and what is risky is asked for by it', async () => {
  const agent = await signedIn(server)
  await age(server, 700)
  const page = await agent.get(`${server.url}/account/email`)
  expect((await signInWith(agent, page, alices)).url).toBe(`${server.url}/account/email`)
})

interface Sent {
  id: string
  response: { signature: string }
}

function flipped(signature: string): string {
  const bytes = Buffer.from(signature, 'base64url')
  bytes[bytes.length - 1]! ^= 1
  return bytes.toString('base64url')
}

/** Of a passkey that there may be. */
function withResponse(more: Record<string, unknown>): string {
  const whole = { clientDataJSON: 'e30', authenticatorData: 'A'.repeat(60), signature: 'AAAA' }
  return JSON.stringify({ id: 'A'.repeat(43), response: { ...whole, ...more } })
}

test('who signed in with a password and is asked for more shows a passkey of theirs in addition', async () => {
  const agent = await signedIn(server)
  const page = await agent.get(authorizationUrl(server, { acr_values: 'phr' }))
  expect([findForm(page, 'login'), page.body]).toEqual([undefined, expect.stringContaining('Confirm it is you')])
  expect(optionsIn(page, 'passkey-form').userVerification).toBe('required')
  const other = await signInWith(agent, page, bobs)
  expect([other.status, other.body]).toEqual([403, expect.stringContaining('This passkey cannot be used here.')])
  const touched = await signInWith(agent, other, alices, { verifies: false })
  expect([touched.status, touched.body]).toEqual([403, expect.stringContaining('did not ask for your finger')])
  const after = await signInWith(agent, touched, alices)
  const tokens = (await (await exchange(server, answerOf(await goThrough(agent, after)).get('code') ?? '')).json()) as { id_token: string } // prettier-ignore
  expect(claimsIn(tokens.id_token)).toMatchObject({ acr: 'phr', amr: ['pwd', 'hwk', 'user', 'mfa'] })
}) // prettier-ignore

test('the page that asks for one in addition says who signs in to what, and leads back to the app, or on as somebody else', async () => {
  const demand = authorizationUrl(server, {
    claims: JSON.stringify({ id_token: { acr: { essential: true, values: ['phr'] } } }),
  })
  const agent = newAgent()
  const { username, password } = ALICE
  const ask = async (): Promise<Page> =>
    agent.submit(await agent.get(demand), 'login', { username, password })
  const page = await ask()
  expect(page.body).toMatch(/id="signing-in-as"[^>]*>(<bdi>)?alice</)
  expect(page.body).toMatch(/<bdi>web<\/bdi>/)
  for (const way of ['switch-account', 'leave'])
    expect((await agent.submit(page, way, { csrf_token: 'made up' })).status).toBe(403)
  for (const _click of ['first', 'second'])
    expect(findForm(await agent.submit(page, 'switch-account'), 'login')).toBeDefined()
  expect(answerOf(await agent.submit(await ask(), 'leave')).get('error')).toBe('access_denied')
})

test('a wish for a passkey is passed over for who has none; the metadata names what there is', async () => {
  await oauth.users.create({ username: 'eve', password: 'the long password of Eve' })
  const agent = await signedIn(server, { username: 'eve', password: 'the long password of Eve' })
  const page = await agent.get(authorizationUrl(server, { acr_values: 'phr' }))
  expect(answerOf(await goThrough(agent, page)).get('code')).toMatch(/./)
  const metadata = (await (await server.get('/.well-known/openid-configuration')).json()) as object
  expect(metadata).toMatchObject({
    acr_values_supported: ['1', ...(isThere('latchkey-second-factor') ? ['2'] : []), 'phr'],
  })
})

test('strangers fill nothing: neither the page nor answers that do not hold store anything', async () => {
  const stored = async () =>
    server.database.query(
      `select (select count(*)::int from spent_handles) as spent, (select count(*)::int from artifacts) as artifacts`,
    )
  const before = await stored()
  for (let one = 0; one < 5; one++) {
    const agent = newAgent()
    const page = await signInPage(agent)
    await signInWith(agent, page, alices, { origin: 'https://evil.example' })
    await agent.submit(page, 'passkey-form', { credential: '{}' })
  }
  expect(await stored()).toEqual(before)
})
