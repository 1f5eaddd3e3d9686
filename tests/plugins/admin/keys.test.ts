/** Signing keys on their page: what is published, replaced when asked, and never a private part. */
import { expect, test, vi } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { startServer } from '../../support/server.ts'
import { findForm, type Page } from '../../support/user-agent.ts'
import { doneOn, ROOT, signedIn } from './administrator.ts'

const server = await startServer({}, { seed: { users: [ROOT] } })
const { keys, audit, users } = kernelOf(server.server)
const agent = await signedIn(server)
const open = async (): Promise<Page> => agent.get(`${server.url}/admin/keys`)
const kids = (algorithm: string): string[] =>
  keys.keys().filter((key) => key.algorithm === algorithm).map(({ kid }) => kid) // prettier-ignore

/** State and kid of each row, below the heading of the algorithm. */
function rowsOf({ body }: Page, algorithm: string): string[][] {
  const section = body.split('<section').find((one) => one.includes(`<h2 id="${algorithm}"`)) ?? ''
  return [...section.matchAll(/<span class="tag \w+">(\w+)<\/span><\/th>\n<td><code>([^<]*)</g)].map(([, ...row]) => row)
} // prettier-ignore

test('a key is replaced by one that is published first, and by one alone', async () => {
  const [former] = kids('ES256')
  const page = await open()
  expect(rowsOf(page, 'ES256')).toEqual([['current', former]])
  // On a narrow screen the heading of the column and what is below it are one phrase.
  expect(page.body).toContain('<td data-label="Gone after">set when it is replaced</td>')
  expect(page.body).toContain('<p>Signs access tokens, and what clients are registered to get signed with it.</p>')
  expect(page.body).toContain('<p>Signs the ID tokens of clients that are registered for no other algorithm.</p>')
  const rotated = await agent.submit(page, 'rotate-ES256')
  expect([rotated.status, rotated.url]).toEqual([200, `${server.url}/admin/keys?rotated=ES256`])
  const successor = kids('ES256').find((kid) => kid !== former)!
  expect(rowsOf(rotated, 'ES256')).toEqual([['next', successor], ['current', former]])
  expect(rotated.body).toContain('It signs once everybody has had time to fetch it.')
  // Neither the same form once more, nor one for a key that waits, makes another.
  expect(findForm(rotated, 'rotate-ES256')).toBeUndefined()
  await agent.submit(page, 'rotate-ES256')
  expect(kids('ES256')).toHaveLength(2)
  expect(kids('RS256')).toHaveLength(1)
  const [event] = (await audit.list({ type: 'key.created' })).events
  expect(event).toMatchObject({ actor: { kind: 'user', id: (await users.find('root'))!.id }, details: { kid: successor, algorithm: 'ES256' } })
}) // prettier-ignore

test('an algorithm that is offered and has no key gets one, which signs at once', async () => {
  const page = await open()
  expect(rowsOf(page, 'EdDSA')).toEqual([])
  // All of these stand together: those that are in use are not lost among them.
  expect(page.body.split('<h2 id="without-key"')[1]).toMatch(/<h3 id="EdDSA">[\s\S]*<h3 id="ES512">/)
  expect(page.body.match(/<h2 /g)).toHaveLength(3)
  const made = await agent.submit(page, 'rotate-EdDSA')
  expect(rowsOf(made, 'EdDSA')).toEqual([['current', kids('EdDSA')[0]]])
  expect(made.body).toContain('There is a key, which signs at once.')
})

test('a form that comes behind another one makes no second successor, though this process knows nothing of that yet', async () => {
  const page = await open()
  const [former] = kids('EdDSA')
  const { rotate } = keys
  vi.spyOn(keys, 'rotate').mockImplementationOnce(async (...given) => {
    await rotate('EdDSA')
    return rotate(...given)
  })
  const rotated = await agent.submit(page, 'rotate-EdDSA')
  expect(rotated.url).toBe(`${server.url}/admin/keys?rotated=EdDSA`)
  expect(kids('EdDSA')).toEqual([former, expect.any(String)])
  vi.restoreAllMocks()
})

test('a key that a clock which was ahead would have sign in a year has a form, which brings it forward', async () => {
  await keys.provide('ES512')
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 365 * 86_400_000 })
  const far = await keys.rotate('ES512').finally(() => vi.useRealTimers())
  const [page, before] = [await open(), kids('ES512')]
  await agent.submit(page, 'rotate-ES512')
  // The form that comes twice makes no key, either.
  const brought = await agent.submit(page, 'rotate-ES512')
  expect(kids('ES512')).toEqual(before)
  expect(rowsOf(brought, 'ES512')).toContainEqual(['next', far.kid])
  expect(keys.find(far.kid)!.signsFrom).toBeLessThan(Date.now() + 600_000)
  expect(findForm(brought, 'rotate-ES512')).toBeUndefined()
})

test('when the successor signs, the former is retiring, with its end', async () => {
  await keys.rotate('RS256', 0)
  expect(rowsOf(await open(), 'RS256').map(([state]) => state)).toEqual(['current', 'retiring'])
})

test('a key is revoked after its page has said what that ends', async () => {
  const { kid } = keys.signer('ES256')
  const link = new RegExp(`href="([^"]*)" aria-label="Revoke the key ${kid}"`).exec((await open()).body)![1]!
  const page = await agent.get(new URL(link.replaceAll('&amp;', '&'), server.url).href)
  expect(page.body).toMatch(/It signs now\. Every token that it signed is refused at once: those of the last \d+ seconds/)
  expect(page.body).toMatch(/JWKS takes them until their copy of it ends, which is 30 seconds at most/)
  expect(keys.find(kid)).toBeDefined()
  const done = await agent.submit(page, 'revoke-key')
  expect([done.status, done.url, doneOn(done)]).toEqual([200, `${server.url}/admin/keys?revoked=yes`, 'The key is revoked.'])
  expect(keys.find(kid)).toBeUndefined()
  expect(rowsOf(done, 'ES256')).toContainEqual(['revoked', kid])
  expect(rowsOf(done, 'ES256')).toContainEqual(['current', keys.signer('ES256').kid])
  expect(done.body).not.toContain(`Revoke the key ${kid}`)
  const [event] = (await audit.list({ type: 'key.revoked' })).events
  expect(event).toMatchObject({ actor: { kind: 'user', id: (await users.find('root'))!.id }, details: { kid, algorithm: 'ES256' } })
  // Once more, and of a key that there is not: nothing to ask.
  expect((await agent.submit(page, 'revoke-key')).url).toBe(`${server.url}/admin/keys?revoked=yes`)
  for (const gone of [kid, 'made-up']) expect((await agent.get(`${server.url}/admin/keys/revoke?kid=${gone}`)).url).toBe(`${server.url}/admin/keys`)
}) // prettier-ignore

test('no private part is on it', async () => {
  const { body } = await open()
  for (const { privateKey } of keys.keys()) {
    const jwk = privateKey!.export({ format: 'jwk' }) as Record<string, string>
    for (const member of ['d', 'p', 'q', 'dp', 'dq', 'qi'])
      expect(jwk[member] === undefined || !body.includes(jwk[member])).toBe(true)
  }
})

test('an algorithm that there is not is refused', async () => {
  const form = findForm(await open(), 'rotate-PS256')!
  expect((await agent.post(form.action, { ...form.fields, algorithm: 'HS256' })).status).toBe(403)
  expect(kids('HS256')).toEqual([])
})
