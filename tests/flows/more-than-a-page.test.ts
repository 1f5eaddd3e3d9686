/**
 * What is read whole, and kept in memory, where there is more of it than is read at once: the last one counts like the first.
 * @needs latchkey-upstreams, latchkey-jwt-bearer
 */
import { expect, test } from 'vitest'
import { startServer } from '../support/server.ts'
import { APP, bring, createAssertionKey, JAG_SEED, said } from '../support/trusted-issuer.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { ROOT, signedIn } from '../plugins/admin/administrator.ts'

const MANY = Array.from({ length: 1001 }, (_, at) => `many-${String(at).padStart(4, '0')}`)
const LAST = MANY.at(-1)!
const issuerOf = (id: string): string => `https://${id}.example`
const key = await createAssertionKey()
const trusted = { subject: 'email', jwks: { keys: [key.jwk] }, scopes: ['read_books'] }
const server = await startServer(
  {},
  {
    seed: {
      ...JAG_SEED,
      users: [...JAG_SEED.users, ROOT],
      upstreams: MANY.map((id) => ({
        id,
        issuer: issuerOf(id),
        client_id: 'latchkey',
        domains: [`${id}.example`],
        button: id === LAST,
      })),
      trusted_issuers: MANY.map((id) => ({ issuer: issuerOf(id), ...trusted })),
    },
  },
)

test('the sign-in page offers the last upstream', async () => {
  const page = await createUserAgent(server.url).get(`${server.url}/sign-in`)
  expect(page.body).toContain(`${LAST}.example`)
})

test('a JWT of the last trusted issuer is taken', async () => {
  expect(await bring(server, APP, await said(key, issuerOf(LAST), server.url))).toMatchObject({ status: 200 })
})

test('their pages are there, and the lists lead to them', async () => {
  const agent = await signedIn(server)
  for (const [list, one, id] of [
    ['/trusted-issuers', '/trusted-issuer', issuerOf(LAST)],
    ['/upstreams', '/upstream', LAST],
  ] as const) {
    const page = await agent.get(`${server.url}/admin${one}?${new URLSearchParams({ id }).toString()}`)
    expect([page.status, page.body.includes(id)]).toEqual([200, true])
    const before = new URLSearchParams({ after: id.replace(LAST, MANY.at(-2)!) }).toString()
    const listed = await agent.get(`${server.url}/admin${list}?${before}`)
    expect([list, listed.status, listed.body.replaceAll('<wbr>', '').includes(id)]).toEqual([list, 200, true])
  }
})
