/**
 * Documents in number: what is kept of them has an end, in the table and in memory, and one in use costs no statement.
 * @needs latchkey-client-documents
 */
import { expect, test, vi } from 'vitest'
import { createDocuments, type DocumentsOptions } from '../../../plugins/client-documents/documents.ts'
import { parseClientIdUrl } from '../../../src/protocol/client-id-url.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { startDocumentHost } from '../../support/document-host.ts'
import { startServer } from '../../support/server.ts'
import { SEED } from '../../support/sign-in.ts'

const host = await startDocumentHost()
const server = await startServer(
  { OIDC_CLIENT_METADATA_DOCUMENTS: 'any', UNSAFE_OUTBOUND_ORIGINS: host.origin },
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
