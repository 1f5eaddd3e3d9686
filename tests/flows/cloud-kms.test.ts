/** A stranger's key management service that is slow, answers wrongly, or has lost a key: what a server makes of it. */
import { expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { startCloudKms } from '../support/cloud-kms.ts'
import { createDatabase } from '../support/database.ts'
import { startServer } from '../support/server.ts'
import { getAccessToken, isActive, SIGNED, toClient } from '../support/service.ts'

const kms = await startCloudKms()
const client = toClient(SIGNED)
const server = await startServer(
  {
    ...kms.settings,
    KEYS_AT_ONCE: 3,
    OIDC_KEY_PUBLISH: 3,
    OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false,
  },
  { database: await createDatabase(), seed: { clients: [SIGNED] } },
)
const { keys } = kernelOf(server.server)

async function ask(): Promise<{ status: number; retryAfter: string | null; token: string }> {
  const response = await server.post('/token', { grant_type: 'client_credentials' }, client.basic)
  const { access_token: token = '' } = (await response.json()) as { access_token?: string }
  return { status: response.status, retryAfter: response.headers.get('retry-after'), token }
}
const many = async (count: number) => Promise.all(Array.from({ length: count }, ask))

test('however many ask, no more than KEYS_AT_ONCE are asked of it at a time, and who would wait for long is told', async () => {
  await kms.behave('slow', 200)
  const answers = await many(80)
  // One more tries a key that nobody has used for a while.
  expect((await kms.seen()).mostAtOnce).toBeLessThanOrEqual(3 + 2)
  const statuses = answers.map(({ status }) => status)
  expect(statuses).toContain(200)
  expect(statuses).toContain(503)
  expect(new Set(statuses)).toEqual(new Set([200, 503]))
  for (const { status, retryAfter } of answers) expect([status, retryAfter === null]).toEqual([status, status === 200]) // prettier-ignore
  expect(keys.troubles()).toEqual([])
  await kms.behave('well')
  expect((await ask()).status).toBe(200)
})

test('what is signed wrongly reaches nobody', async () => {
  await kms.behave('wrong')
  for (const { status, token } of await many(10)) expect([status, token]).toEqual([503, ''])
  expect(keys.troubles()[0]).toContain('what it signed is not by this key')
  await kms.behave('well')
  await expect.poll(async () => (await ask()).status).toBe(200)
})

test('a key that was made and does not sign is not stored, and is ended', async () => {
  await kms.behave('wrong')
  await expect(keys.rotate('ES256')).rejects.toThrow('a store of keys did not answer')
  await kms.behave('well')
  expect(await kms.listed(server.url)).toHaveLength(2)
})

test('a key that is gone there: what it signed is good, and after a rotation another one signs', async () => {
  const token = await getAccessToken(server, client)
  await kms.remove(keys.signer('ES256').reference)
  expect((await ask()).status).toBe(503)
  expect(keys.troubles()[0]).toContain('404')
  await keys.rotate('ES256')
  await expect.poll(async () => (await ask()).status).toBe(200)
  expect(await isActive(server, client, token)).toBe(true)
  expect(keys.troubles()).toEqual([])
})
