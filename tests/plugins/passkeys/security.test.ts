/**
 * The passkeys of an account: added, named and deleted by their user, a moment after a sign-in, and never the last way in.
 * @needs latchkey-passkeys
 */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { expect, test } from 'vitest'
import { startServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import { routesOf } from '../../support/routes.ts'
import { ALICE, authorizationUrl, BOB, SEED } from '../../support/sign-in.ts'
import { makePasskey } from '../../support/soft-authenticator.ts'
import { createUserAgent, findForm, type UserAgent } from '../../support/user-agent.ts'
import { age, eventsOf, open, signedIn } from '../account/owner.ts'
import { addPasskey, optionsIn, signInWith, startAtLocalhost } from './passkeys.ts'

const server = await startAtLocalhost()
const { oauth, passkeys } = server.server

/** Somebody new, signed in. */
async function somebody(username: string): Promise<{ agent: UserAgent; id: string }> {
  const password = `the long password of ${username}`
  const { id } = await oauth.users.create({ username, password })
  return { agent: await signedIn(server, { username, password }), id }
}

let keys = 0
const namesOf = async (id: string): Promise<string[]> =>
  (await passkeys.list(id)).map(({ value }) => value.name)

test('each is named by the kind of its authenticator, and two of a kind are told apart', async () => {
  const { agent, id } = await somebody('kinds')
  const google = 'ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4'
  await addPasskey(server, agent, { aaguid: google })
  await addPasskey(server, agent, { aaguid: google, syncable: true, synced: true })
  const { page } = await addPasskey(server, agent)
  expect(await namesOf(id)).toEqual(['Google Password Manager', 'Google Password Manager 2', 'Passkey'])
  expect(page.body.match(/<span class="tag">[^<]*/g)).toEqual(['<span class="tag">On one device', '<span class="tag">Synced', '<span class="tag">On one device']) // prettier-ignore
  const [added] = await eventsOf(server, 'user.passkey_added')
  expect(added).toMatchObject({ user: id, actor: { kind: 'user', id }, details: { name: 'Passkey' } })
  const activity = await open(server, agent, '/activity')
  expect(activity.body).toContain('A passkey was added: <bdi>Google Password Manager 2</bdi>')
})

test('one that tells no kind is named by how it is reached, in the language of its user', async () => {
  const { id } = await somebody('unknown-kinds')
  const password = 'the long password of unknown-kinds'
  const german = await signedIn(server, { username: 'unknown-kinds', password }, { 'accept-language': 'de' })
  for (const transports of [['usb', 'nfc'], ['usb'], ['internal'], ['usb', 'hybrid'], []])
    await addPasskey(server, german, { transports })
  expect(await namesOf(id)).toEqual(['Sicherheitsschlüssel', 'Sicherheitsschlüssel 2', 'Passkey', 'Passkey 2', 'Passkey 3'])
}) // prettier-ignore

test('one is renamed and deleted; what its keeper is told then is what is so', async () => {
  const { agent, id } = await somebody('names')
  const { passkey } = await addPasskey(server, agent)
  const { passkey: other, page } = await addPasskey(server, agent)
  const renamed = await agent.submit(page, 'rename-passkey-0', { name: '  The <b>blue</b> phone ' })
  expect(await namesOf(id)).toEqual(['The <b>blue</b> phone', 'Passkey 2'])
  expect(renamed.body).toContain('The &lt;b&gt;blue&lt;/b&gt; phone')
  const deleted = await agent.submit(renamed, 'delete-passkey-0')
  expect([deleted.status, await namesOf(id)]).toEqual([200, ['Passkey 2']])
  const [, signals = ''] = /data-signals="([^"]*)"/.exec(deleted.body) ?? []
  expect(JSON.parse(signals.replaceAll('&quot;', '"'))).toMatchObject({
    rpId: 'localhost',
    userId: passkey.userHandle,
    allAcceptedCredentialIds: [other.id],
    name: 'names',
  })
  const [event] = await eventsOf(server, 'user.passkey_removed')
  expect(event).toMatchObject({ user: id, details: { name: 'The <b>blue</b> phone' } })
  const stranger = createUserAgent(server.url)
  const refused = await signInWith(stranger, await stranger.get(`${server.url}/account`), passkey)
  expect(refused.status).toBe(403)
})

test.each([['', 'empty'], ['x'.repeat(61), 'long'], ['a\u0007b', 'with a control character'], ['\u3164', 'of what nobody sees']])(
  'a name that is %j is refused',
  async (name) => {
    const { agent, id } = await somebody(`refused${name.length}`)
    const { page } = await addPasskey(server, agent)
    const refused = await agent.submit(page, 'rename-passkey-0', { name })
    expect([refused.body, await namesOf(id)]).toEqual([expect.stringContaining('A name has 1 to 60'), ['Passkey']])
  },
) // prettier-ignore

test('the last way in is not deleted, also where two delete the last two at once', async () => {
  const { agent, id } = await somebody('last')
  await addPasskey(server, agent)
  const { page } = await addPasskey(server, agent)
  await server.database.query('update users set password_hash = null where id = $1', [id])
  const pages = await Promise.all([
    agent.submit(page, 'delete-passkey-0'),
    agent.clone().submit(page, 'delete-passkey-1'),
  ])
  expect(await namesOf(id)).toHaveLength(1)
  expect(
    pages.filter(({ body }) => body.includes('This is the only way by which you can sign in')),
  ).toHaveLength(1)
  expect((await eventsOf(server, 'user.passkey_removed')).filter(({ user }) => user === id)).toHaveLength(1)
})

test('after ten minutes adding and deleting ask for a sign-in first, and nothing is done until then', async () => {
  const { agent, id } = await somebody('stale')
  const { passkey, page } = await addPasskey(server, agent)
  await age(server, 700)
  const stale = await open(server, agent, '/security')
  expect(stale.body).toContain('data-options=""')
  const asked = await agent.submit(stale, 'add-passkey-form')
  expect([asked.url.includes('/sign-in?'), findForm(asked, 'login') === undefined]).toEqual([true, false])
  expect((await agent.submit(page, 'delete-passkey-0')).url).toContain('/sign-in?')
  expect(await namesOf(id)).toHaveLength(1)
  const back = await signInWith(agent, asked, passkey)
  expect(back.url).toBe(`${server.url}/account/security`)
  expect(optionsIn(back, 'add-passkey-form').excludeCredentials).toMatchObject([{ id: passkey.id }]) // prettier-ignore
})

test.each([
  ['for another host', { rpId: 'evil.example' }],
  ['of another origin', { origin: 'https://evil.example' }],
  ['with a challenge of its own', { challenge: Buffer.alloc(32).toString('base64url') }],
  ['that is of the other ceremony', { type: 'webauthn.get' }],
])('one %s is not added', async (_what, behaviour) => {
  const agent = await signedIn(server)
  const before = await namesOf((await oauth.users.find('alice'))!.id)
  const { page } = await addPasskey(server, agent, behaviour)
  expect(page.body).toContain('This passkey cannot be used here.')
  expect(await namesOf((await oauth.users.find('alice'))!.id)).toEqual(before)
})

const ec = (x: unknown, y: unknown, more: readonly [number, unknown][] = []) => new Map<number, unknown>([[1, 2], [3, -7], [-1, 1], [-2, x], [-3, y], ...more]) // prettier-ignore
const rsa = (n: Buffer, e: Buffer) => new Map<number, unknown>([[1, 3], [3, -257], [-1, n], [-2, e]]) // prettier-ignore
const okp = (x: Buffer) => new Map<number, unknown>([[1, 1], [3, -8], [-1, 6], [-2, x]]) // prettier-ignore
const jwkOf = (key: KeyObject) => Object.fromEntries(Object.entries(key.export({ format: 'jwk' })).map(([name, value]) => [name, Buffer.from(String(value), 'base64url')])) // prettier-ignore
const point = jwkOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey)
const modulus = jwkOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey)['n']!
const F4 = Buffer.from([1, 0, 1])

test.each([
  ['a point that is not on its curve', ec(Buffer.alloc(32, 1), Buffer.alloc(32, 1))],
  ['no point', ec(Buffer.alloc(32), Buffer.alloc(32))],
  ['numbers for a point', ec(5, 7)],
  ['an algorithm of another type', ec(point['x'], point['y'], [[3, -257]])],
  ['the type of another algorithm', ec(point['x'], point['y'], [[1, 3]])],
  ['another curve', ec(point['x'], point['y'], [[-1, 2]])],
  ['64 bits', rsa(Buffer.from('ffffffffffffffc5', 'hex'), F4)],
  ['16384 bits', rsa(Buffer.alloc(2048, 255), F4)],
  ['the exponent 1, by which everybody signs', rsa(modulus, Buffer.from([1]))],
  ['the exponent 0', rsa(modulus, Buffer.from([0]))],
  ['nothing', rsa(Buffer.alloc(0), Buffer.alloc(0))],
  ['half a key', okp(Buffer.alloc(16, 3))],
])('one whose key has %s is not added: it would be no way in', async (_what, publicKey) => {
  const { agent, id } = await somebody(`key-${++keys}`)
  const { page } = await addPasskey(server, agent, { publicKey })
  expect([page.body, await namesOf(id)]).toEqual([expect.stringContaining('This passkey cannot be used here.'), []])
}) // prettier-ignore

test.each([
  ['ES256', ec(point['x'], point['y'])],
  ['RS256', rsa(modulus, F4)],
  ['EdDSA', okp(jwkOf(generateKeyPairSync('ed25519').publicKey)['x']!)],
])('a key for %s is taken', async (_what, publicKey) => {
  const { page } = await addPasskey(server, (await somebody(`key-${++keys}`)).agent, { publicKey })
  expect(page.body).toContain('The passkey is added')
}) // prettier-ignore

test.each([{ crossOrigin: true }, { crossOrigin: true, topOrigin: 'https://evil.example' }, { topOrigin: 'https://evil.example' }])(
  'what was asked in a frame of another site neither adds one nor signs in: %j',
  async (frame) => {
    const { agent, id } = await somebody(`framed-${++keys}`)
    const { page } = await addPasskey(server, agent, { frame })
    expect([page.body, await namesOf(id)]).toEqual([expect.stringContaining('This passkey cannot be used here.'), []])
    const { passkey } = await addPasskey(server, agent)
    const framed = createUserAgent(server.url)
    expect((await signInWith(framed, await framed.get(`${server.url}/account`), passkey, { frame })).status).toBe(403)
    expect((await signInWith(framed, await framed.get(`${server.url}/account`), passkey)).status).toBe(200)
  },
) // prettier-ignore

test.each([['none', ''], ['no JSON', '{'], ['no object', '[1]'], ['names of the prototype', '{"__proto__":{"id":"x"},"id":"__proto__","response":{"constructor":1}}'], ['CBOR that is none', JSON.stringify({ id: 'A'.repeat(43), response: { clientDataJSON: 'e30', attestationObject: '____' } })]])(
  'a credential that is %s is not added, and nothing fails here',
  async (_what, credential) => {
    const agent = await signedIn(server)
    const page = await agent.submit(await open(server, agent, '/security'), 'add-passkey-form', { credential })
    expect([page.status, page.body]).toEqual([200, expect.stringContaining('This passkey cannot be used here.')])
  },
) // prettier-ignore

test('a challenge adds one passkey, and is of one session', async () => {
  const { agent, id } = await somebody('once')
  const at = await open(server, agent, '/security')
  const options = optionsIn(at, 'add-passkey-form')
  const [first, second] = [1, 2].map(() => makePasskey(options, { origin: server.url }).credential)
  const pages = await Promise.all(
    [first!, second!].map(async (credential) => agent.clone().submit(at, 'add-passkey-form', { credential })),
  )
  expect(await namesOf(id)).toHaveLength(1)
  expect(pages.filter(({ body }) => body.includes('took too long, or was sent twice'))).toHaveLength(1)
  const bob = await signedIn(server, BOB)
  const theirs = await open(server, bob, '/security')
  const { issued = '' } = findForm(await open(server, agent, '/security'), 'add-passkey-form')!.fields
  const refused = await bob.submit(theirs, 'add-passkey-form', { credential: first!, issued })
  expect(refused.body).toContain('This passkey cannot be used here.')
})

test('one that somebody has is nobody else’s, and a form about one is about no other', async () => {
  const { agent, id } = await somebody('owner')
  const { passkey, page } = await addPasskey(server, agent)
  const thief = await signedIn(server, BOB)
  const { page: theirs } = await addPasskey(server, thief)
  const stolen = await thief.submit(theirs, 'delete-passkey-0', { id: passkey.id })
  expect([stolen.status, await namesOf(id)]).toEqual([403, ['Passkey']])
  const forged = await thief.post(`${server.url}/account/passkeys/delete`, { ...findForm(page, 'delete-passkey-0')!.fields }) // prettier-ignore
  expect([forged.status, await namesOf(id)]).toEqual([403, ['Passkey']])
})

test('no more than twenty are added', async () => {
  const { agent, id } = await somebody('many')
  for (let one = 0; one < 20; one++) await addPasskey(server, agent)
  const page = await open(server, agent, '/security')
  expect([(await namesOf(id)).length, page.body]).toEqual([20, expect.stringContaining('as many passkeys as there can be')]) // prettier-ignore
  expect(findForm(page, 'add-passkey-form')).toBeUndefined()
})

test('the page says what to do next: add one, then one more where the first is on one device', async () => {
  const { agent } = await somebody('next')
  expect((await open(server, agent, '/security')).body).toContain('Add a passkey: you sign in without a password') // prettier-ignore
  const { page } = await addPasskey(server, agent)
  expect(page.body).toContain('Add a second passkey, for the day when this one is lost.')
})

test('an export names them, without their keys; they go with their user', async () => {
  const { agent, id } = await somebody('gone')
  const { passkey } = await addPasskey(server, agent)
  const { records } = (await oauth.users.export(id)) as { records: { passkey: object[] } }
  expect(records.passkey).toEqual([{ name: 'Passkey', aaguid: '00000000-0000-0000-0000-000000000000', synced: false, last_used: null, created_at: expect.any(String) }]) // prettier-ignore
  await oauth.users.delete('gone')
  const stranger = createUserAgent(server.url)
  const refused = await signInWith(stranger, await stranger.get(`${server.url}/account`), passkey)
  expect([refused.status, refused.body]).toEqual([403, expect.stringContaining('This passkey cannot be used here.')]) // prettier-ignore
})

test('password managers find where they are kept', async () => {
  const response = await server.get('/.well-known/passkey-endpoints')
  expect([response.status, await response.json()]).toEqual([
    200,
    { enroll: `${server.url}/account/security`, manage: `${server.url}/account/security` },
  ])
  expect((await server.post('/.well-known/passkey-endpoints')).status).toBe(405)
})

test('left out, nothing of them is there, and all else is', async () => {
  const less = await startAtLocalhost({ WITHOUT: 'latchkey-passkeys' })
  const page = await createUserAgent(less.url).get(`${less.url}/account`)
  expect(page.body).not.toMatch(/passkey|webauthn/i)
  const agent = await signedIn(less)
  const security = await open(less, agent, '/security')
  expect([security.status, security.body]).toEqual([200, expect.not.stringMatching(/passkey/i)])
  expect((await less.get('/.well-known/passkey-endpoints')).status).toBe(404)
  expect(less.server.hasDecorator('passkeys')).toBe(false)
})

test.each(['http://127.0.0.1', 'https://192.0.2.1', 'https://[2001:db8::1]'])(
  'at %s browsers make none: nothing is offered, and the log of the start says so',
  async (issuer) => {
    const less = await startServer({ OIDC_ISSUER: issuer }, { seed: SEED })
    const said = () => less.output().split('\n').filter((line) => line.includes('no passkeys here'))
    await expect.poll(said).toHaveLength(1)
    const origin = new URL(less.url).origin
    expect(origin).toBe(issuer)
    expect((await less.server.inject('/sign-in')).body).not.toMatch(/passkey|webauthn/i)
  },
) // prettier-ignore

test('at an issuer with a path they are good for the whole origin, whose root is not ours', async () => {
  const PORT = await freePort()
  const below = await startServer({ PORT, OIDC_ISSUER: `http://localhost:${PORT}/tenant` }, { seed: SEED })
  const agent = createUserAgent(below.url)
  const page = await agent.get(`${below.url}/account`)
  expect(page.body).toContain(`data-origin="http://localhost:${PORT}"`)
  const { passkey } = await addPasskey(below, await signedIn(below))
  expect((await signInWith(agent, page, passkey)).url).toBe(`${below.url}/account`)
  expect((await below.server.inject('/.well-known/passkey-endpoints')).statusCode).toBe(404)
})

test('who has a passkey may do without a password: it is removed a moment after a sign-in, and signs nobody in', async () => {
  const { agent, id } = await somebody('free')
  expect(findForm(await open(server, agent, '/security'), 'remove-password')).toBeUndefined()
  const { passkey, page } = await addPasskey(server, agent)
  await age(server, 700)
  expect((await agent.submit(page, 'remove-password')).url).toContain('/sign-in?')
  const again = await agent.get(`${server.url}/account/email`)
  await signInWith(agent, again, passkey)
  const removed = await agent.submit(await open(server, agent, '/security'), 'remove-password')
  expect(removed.body).toContain('Your password is removed.')
  expect(await oauth.users.waysIn(id)).toEqual(['passkey'])
  await expect(signedIn(server, { username: 'free', password: 'the long password of free' })).rejects.toThrow('403')
  const [event] = await eventsOf(server, 'user.password_removed')
  expect(event).toMatchObject({ user: id, actor: { kind: 'user', id } })
  const refused = await agent.submit(await open(server, agent, '/security'), 'delete-passkey-0')
  expect(refused.body).toContain('This is the only way by which you can sign in')
  const other = createUserAgent(server.url)
  expect((await signInWith(other, await other.get(`${server.url}/account`), passkey)).url).toBe(`${server.url}/account`)
}) // prettier-ignore

test('of a password and a passkey that are taken away at once, one stays', async () => {
  const { agent, id } = await somebody('both')
  const { page } = await addPasskey(server, agent)
  const pages = await Promise.all([
    agent.submit(page, 'remove-password'),
    agent.clone().submit(page, 'delete-passkey-0'),
  ])
  expect(await oauth.users.waysIn(id)).toHaveLength(1)
  expect(pages.filter(({ body }) => body.includes('the only way by which you can sign in'))).toHaveLength(1)
})

test('who signed in with a password and has none is offered one on the overview, until they do not want to hear of it in this browser', async () => {
  const { agent } = await somebody('offered')
  const page = await open(server, agent)
  expect(page.body).toMatch(/<section [^>]*id="passkey-offer"[^>]* hidden>/)
  const after = await agent.submit(page, 'passkey-not-now')
  expect([after.url, after.body.includes('passkey-offer')]).toEqual([`${server.url}/account`, false])
  await agent.get(`${server.url}/account`)
  expect(agent.cookies.get('latchkey-no-passkey-offer')).toBe('yes')
  const elsewhere = await signedIn(server, { username: 'offered', password: 'the long password of offered' })
  expect((await open(server, elsewhere)).body).toContain('passkey-offer')
  const { passkey } = await addPasskey(server, elsewhere)
  expect((await open(server, elsewhere)).body).not.toContain('passkey-offer')
  await passkeys.remove((await oauth.users.find('offered'))!.id, passkey.id)
  expect((await open(server, elsewhere)).body).toContain('passkey-offer')
})

test('no page stands between a sign-in and the app: the offer is on the account alone', async () => {
  const agent = createUserAgent(server.url)
  const page = await agent.get(authorizationUrl(server))
  const consent = await agent.submit(page, 'login', { username: ALICE.username, password: ALICE.password })
  expect(findForm(consent, 'consent')).toBeDefined()
  expect(consent.body).not.toMatch(/passkey/i)
})

test('every address of theirs is behind the guards: strangers sign in, and no form is taken without its token', async () => {
  const routes = routesOf(server.server).map(({ url }) => url.replace(/\/$/, ''))
  const theirs = [...new Set(routes.filter((url) => /^\/(?:account|admin)\/.*passkey/.test(url)))]
  expect(theirs).toEqual(expect.arrayContaining(['/account/passkeys/add', '/account/passkeys/delete', '/account/passkeys/not-now', '/account/passkeys/rename', '/admin/user/delete-passkey'])) // prettier-ignore
  const agent = await signedIn(server)
  const cookie = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
  const told = []
  for (const url of theirs) {
    const page = await server.get(url)
    expect([url, page.headers.get('location')]).toEqual([url, expect.stringMatching(/^\/sign-in\?/)])
    const answers = [
      await server.post(url),
      await server.post(url, {}, { cookie, origin: server.url }),
      await server.request(url, { method: 'DELETE', headers: { cookie } }),
    ]
    told.push([url, ...answers.map(({ status }) => status)])
  }
  expect(told).toEqual(theirs.map((url) => [url, 403, 403, url.startsWith('/admin') ? 403 : 405]))
}) // prettier-ignore
