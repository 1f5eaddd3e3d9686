/** Trusted issuers on their pages: listed, registered, changed, deleted, what their JWTs are good for then, and when one was last. */
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { startServer } from '../../support/server.ts'
import { APP, bring, createAssertionKey, JAG_SEED, said } from '../../support/trusted-issuer.ts'
import { findForm, type Page } from '../../support/user-agent.ts'
import { doneOn, ROOT, signedIn, textOf } from './administrator.ts'
import { isThere } from '../../support/left-out.ts'

const ISSUER = 'https://login.example'
const key = await createAssertionKey()
const server = await startServer({}, { seed: { ...JAG_SEED, users: [...JAG_SEED.users, ROOT] } })
const { trustedIssuers, trustedIssuerUses } = kernelOf(server.server)
const agent = await signedIn(server)
const page = async (path: string, id?: string): Promise<Page> =>
  agent.get(
    `${server.url}/admin${path}${id === undefined ? '' : `?${new URLSearchParams({ id }).toString()}`}`,
  )
const create = async (fields: Record<string, string>): Promise<Page> =>
  agent.submit(await page('/trusted-issuers/new'), 'record', fields)
const change = async (fields: Record<string, string>): Promise<Page> =>
  agent.submit(await page('/trusted-issuer', ISSUER), 'record', fields)
const grant = async () =>
  bring(server, APP, await said(key, ISSUER, server.url, { repository: 'org/app', name: 'a b' }))
const bad = { status: 400, error: 'invalid_grant' }
const jwks = { keys: [key.jwk] }

test.runIf(isThere('latchkey-jwt-bearer'))(
  'one is registered, changed, disabled and deleted, and its next JWT shows it',
  async () => {
    expect((await page('/trusted-issuers')).body).toContain('There are none yet.')
    expect(await grant()).toMatchObject(bad)
    const made = await create({
      issuer: ISSUER,
      jwks: JSON.stringify(jwks),
      subject: 'email',
      scopes: 'read_books',
      clients: 'app',
    })
    expect([made.status, made.body]).toEqual([200, expect.stringContaining('role="status"')])
    expect(made.body).toContain('href="/admin/client?client_id=app"')
    const registered = { issuer: ISSUER, jwks, subject: 'email', scopes: ['read_books'], clients: ['app'] }
    expect(await trustedIssuers.find(ISSUER)).toEqual(registered)
    expect(await grant()).toMatchObject({ status: 200, scope: 'read_books' })

    const all = {
      subject_claim: 'email',
      scopes: 'read_books read_shelf',
      resources: `${server.url}\nhttps://shelf.example`,
      clients: 'app few',
      claims: 'repository=org/app',
      audiences: `${server.url}\nurn:us`,
      algorithms: 'ES256',
      max_age: '600',
      reusable: 'true',
    }
    const changed = await change(all)
    expect(findForm(changed, 'record')!.fields).toMatchObject({ ...all, subject: 'email', disabled: '' })
    expect(JSON.parse(findForm(changed, 'record')!.fields['jwks']!)).toEqual(jwks)
    expect(await trustedIssuers.find(ISSUER)).toEqual({
      ...registered,
      subject_claim: 'email',
      scopes: ['read_books', 'read_shelf'],
      resources: [server.url, 'https://shelf.example'],
      clients: ['app', 'few'],
      claims: { repository: 'org/app' },
      audiences: [server.url, 'urn:us'],
      algorithms: ['ES256'],
      max_age: 600,
      reusable: true,
    })
    expect(await grant()).toMatchObject({ status: 200, scope: 'read_books read_shelf' })
    await change({ claims: JSON.stringify({ name: ['a b', 'c'] }) })
    expect(await trustedIssuers.find(ISSUER)).toMatchObject({ claims: { name: ['a b', 'c'] } })
    expect(JSON.parse(findForm(await page('/trusted-issuer', ISSUER), 'record')!.fields['claims']!)).toEqual({
      name: ['a b', 'c'],
    })

    await change({ disabled: 'true' })
    const { body: listed } = await page('/trusted-issuers')
    expect([...listed.matchAll(/<th scope="col">([^<]*)</g)].map(([, name]) => name)).toEqual([
      'Issuer',
      'Trust',
      'Last used',
    ])
    expect(listed).toContain('<td data-label="Trust">Disabled</td>')
    expect(await grant()).toMatchObject(bad)
    await change({ disabled: '' })
    expect(await grant()).toMatchObject({ status: 200 })
    // Emptied, a field means the default again.
    const emptied = { subject_claim: '', resources: '', claims: '', audiences: '', algorithms: '', max_age: '', reusable: '', scopes: 'read_books', clients: 'app' } // prettier-ignore
    await change(emptied)
    expect(await trustedIssuers.find(ISSUER)).toEqual(registered)

    const kept = await agent.submit(await page('/trusted-issuer', ISSUER), 'delete-record', { confirm: 'x' })
    expect([kept.status, textOf(kept, 'confirm-error')]).toEqual([
      400,
      'This is not the identifier of this issuer.',
    ])
    const list = await agent.submit(kept, 'delete-record', { confirm: ISSUER })
    expect([list.url, await trustedIssuers.find(ISSUER)]).toEqual([
      `${server.url}/admin/trusted-issuers?removed=yes`,
      null,
    ])
    expect(doneOn(list)).toBe('The issuer is deleted.')
    expect(await grant()).toMatchObject(bad)
    expect((await page('/trusted-issuer', ISSUER)).status).toBe(404)
  },
)

test.runIf(isThere('latchkey-jwt-bearer'))(
  'who did it, what was before and what is after stand in the audit log',
  async () => {
    const { audit, users } = server.server.oauth
    const { id } = (await users.find('root'))!
    for (const type of ['trusted_issuer.registered', 'trusted_issuer.changed', 'trusted_issuer.deleted']) {
      const { events } = await audit.list({ type })
      expect([type, events[0]]).toEqual([type, expect.objectContaining({ actor: { kind: 'user', id } })])
      expect(events[0]!.details).toMatchObject({ issuer: ISSUER })
    }
    const { events } = await audit.list({ type: 'trusted_issuer.changed' })
    expect(events.map(({ details }) => details)).toContainEqual({
      issuer: ISSUER,
      changes: { disabled: [null, true] },
    })
  },
)

test.each([
  [{ issuer: 'login' }, 'issuer', 'Must be an https address, or a SPIFFE trust domain.'],
  [{ issuer: server.url }, 'issuer', 'Is this server itself: name that of somebody else.'],
  [{ issuer: `${server.url}/` }, 'issuer', 'Is this server itself: name that of somebody else.'],
  [{ issuer: '' }, 'issuer', 'Must not be empty.'],
  [{ issuer: ISSUER }, 'jwks', 'Is needed, or jwks_uri, and not both.'],
  [{ issuer: ISSUER, jwks: '{}' }, 'jwks', expect.any(String)],
  [{ issuer: ISSUER, jwks: 'x' }, 'jwks', 'Must be a JWK set.'],
  [{ issuer: ISSUER, jwks: '{"keys":[]}' }, 'jwks', 'Holds no key.'],
  [
    { issuer: ISSUER, jwks: JSON.stringify(jwks).replace('{', '{"keys":[],') },
    'jwks',
    'Has keys twice in one object: leave one of them.',
  ],
  [{ issuer: ISSUER, jwks_uri: 'urn:x' }, 'jwks_uri', 'Must be an https address.'],
  [
    { issuer: ISSUER, jwks_uri: `${ISSUER}/jwks`, algorithms: 'HS256' },
    'algorithms',
    'Must be a list of 100 at most, each well formed.',
  ],
  [
    { issuer: ISSUER, jwks_uri: `${ISSUER}/jwks`, claims: 'x' },
    'claims',
    'Must be pairs such as repository=org/app.',
  ],
  [
    { issuer: ISSUER, jwks_uri: `${ISSUER}/jwks`, claims: 'ref=x repository=org/app ref=y' },
    'claims',
    'Names ref twice: where one of several is good, write JSON with a list of them.',
  ],
  [
    { issuer: ISSUER, jwks_uri: `${ISSUER}/jwks`, claims: '{"ref":"x","r\\u0065f":["y"]}' },
    'claims',
    'Names ref twice: where one of several is good, write JSON with a list of them.',
  ],
  [{ issuer: ISSUER, jwks_uri: `${ISSUER}/jwks`, max_age: '1e9' }, 'max_age', 'Must be 1 to 86000 seconds.'],
])('%j is refused at its field, and what was typed is kept', async (fields, field, message) => {
  const refused = await create(fields)
  expect([refused.status, textOf(refused, `${field}-error`)]).toEqual([400, message])
  expect(refused.body).toMatch(/<title>Error: /)
  expect(findForm(refused, 'record')!.fields).toMatchObject(fields)
  expect(await trustedIssuers.list()).toEqual([])
})

test('a form that was opened before somebody else saved undoes nothing unseen', async () => {
  await trustedIssuers.save({ issuer: ISSUER, jwks, scopes: ['read_books'], subject: 'email' })
  const opened = await page('/trusted-issuer', ISSUER)
  await trustedIssuers.save({ issuer: ISSUER, scopes: null })
  const asked = await agent.submit(opened, 'record', { max_age: '60' })
  expect([asked.status, asked.body]).toEqual([400, expect.stringContaining('changed meanwhile')])
  expect(await trustedIssuers.find(ISSUER)).toEqual({ issuer: ISSUER, jwks, subject: 'email' })
})

test.runIf(isThere('latchkey-jwt-bearer'))(
  'when a JWT of it was last good is noted behind the request, once for many, and never for one that is registered anew',
  async () => {
    const other = await startServer(
      { SECRET_KEY: server.settings['SECRET_KEY'] },
      { database: server.database },
    )
    const lastUse = async () => (await trustedIssuers.lastUses([ISSUER])).get(ISSUER)
    const start = Date.now()
    await trustedIssuers.save({ issuer: ISSUER, jwks, subject: 'email', scopes: ['read_books'] })
    // A phone, on which the heading of the column is not seen, says what it is.
    expect((await page('/trusted-issuers')).body).toContain('data-label="Last used"')
    expect((await page('/trusted-issuer', ISSUER)).body).toContain('None of its JWTs has been accepted yet.')
    expect(await bring(server, APP, await said(key, ISSUER, 'https://other.example'))).toMatchObject(bad)
    await trustedIssuerUses.flush()
    expect(await lastUse()).toBeUndefined()

    for (let n = 0; n < 3; n++) expect(await grant()).toMatchObject({ status: 200 })
    expect(await lastUse()).toBeUndefined()
    await trustedIssuerUses.flush()
    const first = (await lastUse())!
    expect(first.getTime()).toBeGreaterThanOrEqual(start)
    const shown = await page('/trusted-issuer', ISSUER)
    expect(textOf(shown, 'note')).toContain('A JWT of it was last good here on')
    expect((await page('/trusted-issuers')).body).toMatch(
      /<td data-label="Last used"><time datetime="[^"]+">/,
    )

    // Another process stores what it noted before, and takes nothing back.
    const elsewhere = kernelOf(other.server)
    await expect
      .poll(async () => (await elsewhere.trustedIssuers.trusted())[0]?.scopes)
      .toEqual(['read_books'])
    await server.database.query(`update trusted_issuers set used_at = now() + interval '1 hour'`)
    const later = await lastUse()
    expect(await bring(other, APP, await said(key, ISSUER, other.url))).toMatchObject({ status: 200 })
    await elsewhere.trustedIssuerUses.flush()
    expect(await lastUse()).toEqual(later)

    expect(await grant()).toMatchObject({ status: 200 })
    await trustedIssuers.delete(ISSUER)
    await trustedIssuers.save({ issuer: ISSUER, jwks, subject: 'email', scopes: ['read_books'] })
    await trustedIssuerUses.flush()
    expect(await lastUse()).toBeUndefined()
  },
)

test.each(['scopes', 'clients', 'claims', 'algorithms'])('%s says how its list is written', async (name) => {
  expect(textOf(await page('/trusted-issuers/new'), `${name}-hint`)).toMatch(/^Separated by spaces/)
})

test('every field in which something is wrong is marked at once', async () => {
  const refused = await create({ issuer: 'nowhere', algorithms: 'none', max_age: 'long' })
  for (const name of ['issuer', 'jwks', 'algorithms', 'max_age'])
    expect([name, refused.status, textOf(refused, `${name}-error`)]).toEqual([name, 400, expect.any(String)])
})
