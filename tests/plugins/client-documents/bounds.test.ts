/**
 * Documents in number: what is kept of them has an end, in the table and in memory, and one in use costs no statement.
 * @needs latchkey-client-documents
 */
import { expect, test, vi } from 'vitest'
import { createDocuments, type DocumentsOptions } from '../../../plugins/client-documents/documents.ts'
import { parseClientIdUrl } from '../../../src/protocol/client-id-url.ts'
import { TooManyUnderWay } from '../../../src/services/outbound/too-many.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { atEndOfFile } from '../../support/cleanup.ts'
import { startDocumentHost } from '../../support/document-host.ts'
import { startReceiver } from '../../support/receiver.ts'
import { startServer } from '../../support/server.ts'
import { createPkce, authorizationUrl, SEED } from '../../support/sign-in.ts'

const host = await startDocumentHost()
const slow = await Promise.all([1, 2].map(async () => startReceiver(() => {})))
const away = slow.map(({ port }) => `http://127.0.0.1:${port}`)
const UNSAFE_OUTBOUND_ORIGINS = [host.origin, ...away].join(',')
const server = await startServer(
  { OIDC_CLIENT_METADATA_DOCUMENTS: 'any', UNSAFE_OUTBOUND_ORIGINS, TRUSTED_PROXIES: '127.0.0.1' },
  { seed: SEED },
)
const { database, directory } = kernelOf(server.server)
const count = async () => {
  const [row] = await server.database.query<{ n: number }>('select count(*)::int as n from client_documents')
  return row!.n
}

test('of more documents than are kept each still signs people in, and those that are kept are read again', async () => {
  const options: DocumentsOptions = {
    database,
    log: server.server.log,
    read: async (url) => ({ document: { client_id: url.href }, headers: new Headers() }),
    judge: async (clientId) => ({
      client: { clientId, redirectUris: [], scope: [], metadata: {} },
      identity: 'known',
    }),
    blocked: { since: async () => 0 },
    urlOf: (clientId) => parseClientIdUrl(clientId),
    consentLifetime: 60,
    most: 10,
  }
  const { find } = createDocuments(options)
  for (let n = 0; n < 30; n++)
    expect(await find(`https://app-${n}.example/client.json`)).toMatchObject({ since: 0 })
  expect(await count()).toBe(10)
  await server.database.query(`update client_documents set fresh_until = now() - interval '1 second', read_at = now() - interval '1 hour'`) // prettier-ignore
  await find('https://app-3.example/client.json')
  const [row] = await server.database.query<{ fresh: boolean }>(`select fresh_until > now() as fresh from client_documents where client_id = 'https://app-3.example/client.json'`) // prettier-ignore
  expect(row).toEqual({ fresh: true })
  expect(await count()).toBe(10)
})

test('one in use is taken from memory, as one that is registered: no statement, and nothing is asked for', async () => {
  const clientId = host.publish('hot.json')
  const client = await directory.admitClient(clientId)
  const asked = host.asked('hot.json')
  const asking = vi.spyOn(database, 'query')
  for (let n = 0; n < 1000; n++) {
    expect(directory.cachedClient(clientId)).toBe(client)
    expect(await directory.findClient(clientId)).toBe(client)
    expect(await directory.admitClient(clientId)).toBe(client)
  }
  const names = asking.mock.calls.map(([{ name }]) => name)
  asking.mockRestore()
  expect(names.filter((name) => name.startsWith('client'))).toEqual([])
  expect(host.asked('hot.json')).toBe(asked)
})

test('where one network has no place left to have documents read, it is told so for a moment, and others are not', async () => {
  const over = new AbortController()
  atEndOfFile(async () => over.abort())
  const ask = async (client_id: string, from: string) => {
    const { challenge } = createPkce()
    const how = { code_challenge: challenge, code_challenge_method: 'S256', scope: 'openid' }
    const answer = await server.request(authorizationUrl(server, { client_id, ...how }), {
      headers: { 'x-forwarded-for': from },
      redirect: 'manual',
      signal: over.signal,
    })
    return { status: answer.status, again: answer.headers.get('retry-after'), page: await answer.text() }
  }
  for (let n = 0; n < 10; n++) void ask(`${away[n % 2]!}/client-${n}`, '203.0.113.66').catch(() => {})
  await expect.poll(() => slow.flatMap(({ received }) => received).length).toBe(10)
  const clientId = host.publish('crowded.json')
  const refused = await ask(clientId, '203.0.113.66')
  expect([refused.status, refused.again !== null, host.asked('crowded.json')]).toEqual([503, true, 0])
  expect(refused.page).toContain('temporarily_unavailable')
  expect((await ask(clientId, '198.51.100.7')).status).toBe(303)
})

test('one that was read before serves on where too much is asked of others', async () => {
  let isCrowded = false
  const { find } = createDocuments({
    database,
    log: server.server.log,
    async read(url) {
      if (isCrowded) throw new TooManyUnderWay()
      return { document: { client_id: url.href }, headers: new Headers() }
    },
    judge: async (clientId) => ({
      client: { clientId, redirectUris: [], scope: [], metadata: {} },
      identity: 'known',
    }),
    blocked: { since: async () => 0 },
    urlOf: (clientId) => parseClientIdUrl(clientId),
    consentLifetime: 60,
  })
  await find('https://read.example/client.json')
  await server.database.query(`update client_documents set fresh_until = now() - interval '1 second' where client_id = 'https://read.example/client.json'`) // prettier-ignore
  isCrowded = true
  expect(await find('https://read.example/client.json')).toMatchObject({ since: 0, away: undefined })
  await expect(find('https://other.example/client.json')).rejects.toMatchObject({ status: 503 })
})
