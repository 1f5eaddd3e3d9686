import { expect, test } from 'vitest'
import { parseMetadata } from '../../src/protocol/client-metadata.ts'
import {
  applyMetadata,
  effectiveGrantTypes,
  effectiveResponseTypes,
  toMetadata,
  type StoredClient,
} from '../../src/protocol/stored-client.ts'

const client = (members: Record<string, unknown> = {}): StoredClient => {
  const stored: StoredClient = { clientId: 'c', redirectUris: [], scope: [], metadata: {} }
  applyMetadata(stored, parseMetadata(members).members)
  return stored
}
const URI = 'https://client.example/cb'

test('the defaults of a client follow from what it has', () => {
  const table = [
    [{}, true, [], []],
    [{ scope: ['a'] }, true, [], ['client_credentials']],
    [{ scope: ['a'] }, false, [], []],
    [{ redirect_uri: URI }, true, ['code'], ['authorization_code', 'refresh_token']],
    [
      { redirect_uri: URI, scope: ['a'] },
      true,
      ['code'],
      ['authorization_code', 'refresh_token', 'client_credentials'],
    ],
    [{ redirect_uri: URI, scope: ['a'] }, false, ['code'], ['authorization_code', 'refresh_token']],
    [{ redirect_uri: URI, response_types: [] }, true, [], []],
    [
      { redirect_uri: URI, response_types: ['code id_token'] },
      true,
      ['code id_token'],
      ['authorization_code', 'refresh_token', 'implicit'],
    ],
    [{ redirect_uri: URI, scope: ['a'], grant_types: ['refresh_token'] }, true, ['code'], ['refresh_token']],
    [{ scope: ['a'], grant_types: [] }, true, [], []],
  ] as const
  for (const [members, hasSecret, responseTypes, grantTypes] of table) {
    const stored = client(members)
    expect([members, effectiveResponseTypes(stored), effectiveGrantTypes(stored, hasSecret)]).toEqual([
      members,
      responseTypes,
      grantTypes,
    ])
  }
})

test('what is stored reads back by its RFC 7591 names, unset members absent', () => {
  const members = {
    client_name: 'A',
    redirect_uris: [URI],
    scope: ['b', 'a'],
    logo_uri: 'https://a.example/l',
    contacts: ['x'],
  }
  expect(toMetadata(client(members), true)).toEqual({
    ...members,
    client_id: 'c',
    response_types: ['code'],
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
  })
})

test('members that are laid over leave the others as they were', () => {
  const stored = client({ client_name: 'A', scope: ['a'], logo_uri: 'https://a.example/l' })
  applyMetadata(stored, parseMetadata({ scope: [], tos_uri: 'https://a.example/t' }).members)
  expect(stored).toMatchObject({
    clientName: 'A',
    scope: [],
    metadata: { logo_uri: 'https://a.example/l', tos_uri: 'https://a.example/t' },
  })
})
