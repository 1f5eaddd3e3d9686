/** What the audit log of a server says of a second in which very many tokens were issued. */
import { expect, test } from 'vitest'
import { startServer } from '../support/server.ts'

async function observe700(settings: Record<string, string>): Promise<() => Promise<number>> {
  const { server } = await startServer(settings)
  const { audit } = server.oauth
  const details = (n: number) => ({ grant_type: 'refresh_token', authorization: `authorization ${n}` })
  for (let n = 0; n < 700; n++)
    audit.observe({ type: 'token.issued', client: 'app', user: 'ada', details: details(n) })
  return async () => (await audit.list({ user: 'ada' }, { limit: 1000 })).events.length
}

test('it names the Authorization of each, unless it is told to merge them', async () => {
  await expect.poll(await observe700({})).toBe(700)
  await expect.poll(await observe700({ OIDC_AUDIT_TOKENS: 'merged' })).toBe(200)
})
