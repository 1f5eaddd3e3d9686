/**
 * docs/client-documents.md: its setting takes its document, and no other.
 * @needs latchkey-client-documents
 */
import { expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { createJudgeDocument } from '../../plugins/client-documents/judge.ts'
import { startServer } from '../support/server.ts'
import { openPage } from './page.ts'

test('with the setting of the page, its document is a client', async () => {
  const page = await openPage('client-documents.md')
  const [setting, document] = [page.next('ini'), page.next('json')]
  page.end()
  const { server, get } = await startServer(Object.fromEntries([setting.trim().split('=')]))
  const metadata = await (await get('/.well-known/openid-configuration')).json()
  expect(metadata).toMatchObject({ client_id_metadata_document_supported: true })
  const { parseOpenMetadata: parse, policies } = kernelOf(server)
  const judge = createJudgeDocument({ parse, policies, scopes: [] })
  const said = JSON.parse(document) as { client_id: string; client_name: string; redirect_uris: string[] }
  const { client } = await judge(said.client_id, said)
  expect(client).toMatchObject({ clientName: said.client_name, redirectUris: said.redirect_uris })
  await expect(judge('https://other.example/client.json', said)).rejects.toThrow(
    'client_id must be the address',
  )
})
