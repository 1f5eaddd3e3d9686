/** Trusted issuers by the interface of the administration. */
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { callerAs, startApi } from '../../support/admin-api.ts'
import { createAssertionKey } from '../../support/client-assertions.ts'

const server = await startApi()
const { oauth } = server.server
const { trustedIssuers, trustedIssuerUses } = kernelOf(server.server)
const call = await callerAs(server, 'all')
const jwks = { keys: [(await createAssertionKey()).jwk] }
const ISSUER = 'https://ci.example'
const CI = {
  issuer: ISSUER,
  jwks,
  audiences: ['https://here.example'],
  subject: 'client',
  scopes: ['read_books'],
  clients: ['web'],
  claims: { repository: ['org/app', 'org/api'], ref: 'main' },
  max_age: 600,
  reusable: true,
}
const at = (issuer: string) => `/trusted-issuers/${encodeURIComponent(issuer)}`

test('one is registered, used, changed and deleted, and what was read may be sent back', async () => {
  const made = await call('POST', '/trusted-issuers', { ...CI, last_used: '2020-01-01T00:00:00Z' })
  expect([made.status, made.body]).toEqual([201, CI])
  expect((await call('GET', at(ISSUER))).body).toEqual(CI)
  const [event] = (await oauth.audit.list({ type: 'trusted_issuer.registered' })).events
  expect(event).toMatchObject({ actor: { kind: 'client', id: 'all' }, details: { issuer: ISSUER } })

  const [trusted] = await trustedIssuers.trusted()
  trustedIssuerUses.note(trusted!)
  await trustedIssuerUses.flush()
  const { body } = await call('GET', at(ISSUER))
  expect(body).toEqual({ ...CI, last_used: expect.stringMatching(/^\d{4}-.*Z$/) })
  expect((await call('GET', '/trusted-issuers')).body).toEqual({ trusted_issuers: [body] })

  const again = await call('PATCH', at(ISSUER), { ...body, last_used: '2020-01-01T00:00:00Z', max_age: 60 })
  expect([again.status, again.body]).toEqual([200, { ...body, max_age: 60 }])
  const { claims: _taken, ...rest } = again.body
  expect((await call('PATCH', at(ISSUER), { claims: null, disabled: true })).body).toEqual({
    ...rest,
    disabled: true,
  })
  expect(await trustedIssuers.trusted()).toEqual([])

  expect((await call('DELETE', at(ISSUER))).status).toBe(204)
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const gone = await call(method, at(ISSUER), method === 'PATCH' ? {} : undefined)
    expect([gone.status, gone.body]).toEqual([
      404,
      { error: 'not_found', error_description: 'there is no trusted issuer here' },
    ])
  }
})

test('a list goes on in the order of their names, trust domains among them', async () => {
  const names = ['https://a.example', 'https://b.example/realms/b', 'spiffe://c.example']
  for (const issuer of names.toReversed())
    expect((await call('POST', '/trusted-issuers', { issuer, jwks })).status).toBe(201)
  const seen: string[] = []
  for (let next: string | undefined = ''; next !== undefined;) {
    const { body } = await call('GET', `/trusted-issuers?limit=2${next === '' ? '' : `&after=${next}`}`)
    seen.push(...body.trusted_issuers.map(({ issuer }: { issuer: string }) => issuer))
    next = body.next
  }
  expect(seen).toEqual(names)
  for (const issuer of names) expect((await call('DELETE', at(issuer))).status).toBe(204)
})

test.each([
  [{ jwks }, 'issuer'],
  [{ issuer: 'nowhere', jwks }, 'issuer'],
  [{ issuer: server.url, jwks }, 'issuer'],
  [{ issuer: ISSUER }, 'jwks'],
  [{ issuer: ISSUER, jwks, jwks_uri: 'https://ci.example/jwks' }, 'jwks'],
  [{ issuer: ISSUER, jwks: { keys: [] } }, 'jwks'],
  [{ issuer: ISSUER, jwks, subject: 'anybody' }, 'subject'],
  [{ issuer: ISSUER, jwks, max_age: 0 }, 'max_age'],
  [{ issuer: ISSUER, jwks, audience: ['https://here.example'] }, 'audience'],
  [{ issuer: ISSUER, jwks, constructor: 'x' }, 'constructor'],
])('%j is refused by its member', async (members, member) => {
  const { status, body } = await call('POST', '/trusted-issuers', members)
  expect([status, body.error, body.problems[0].member]).toEqual([400, 'invalid_request', member])
  expect(await trustedIssuers.list()).toEqual([])
})

test('one that is there is not registered again, nor has it its keys taken, or another name', async () => {
  await call('POST', '/trusted-issuers', CI)
  const refused = [
    await call('POST', '/trusted-issuers', { ...CI, max_age: 5 }),
    await call('PATCH', at(ISSUER), { jwks: null }),
    await call('PATCH', at(ISSUER), { issuer: 'https://other.example' }),
  ]
  expect(refused.map(({ status, body }) => [status, body.problems[0].member])).toEqual([
    [409, 'issuer'],
    [400, 'jwks'],
    [400, 'issuer'],
  ])
  expect((await call('GET', at(ISSUER))).body).toEqual(CI)
  expect(await call('DELETE', at(ISSUER))).toMatchObject({ status: 204 })
})
