/** What the statements are asked that read and write many at a time, for SEED_FILE, and how much they may read for that. */
import { createUuid } from '../../src/protocol/uuid.ts'
import type { Question } from './large-statements.ts'

const MANY = 100
const UUID = createUuid(Date.now())
const numbers = Array.from({ length: MANY }, (_, at) => at + 500)
const clients = numbers.map((at) => `client-${at}`)
const users = numbers.map((at) => `user-${at}`)
const [scopes, resources] = [['scope-1', 'scope-2'], ['https://api-1.example']]

/** A JSON array of one given row. */
const given = (row: object): string => JSON.stringify([row])
const client = { redirectUris: [], responseTypes: [], grantTypes: [], scope: [], metadata: {} }

/** By the name of the statement. */
export const seedQuestions: Readonly<Record<string, Question>> = {
  'changes-record': [['client', [UUID], ['client-1']], 0],
  'clients-present': [[clients], 2 * MANY],
  'clients-hold': [[clients], 2 * MANY],
  // With their secrets.
  'clients-held': [[clients], 5 * MANY],
  'clients-insert': [[given({ ...client, clientId: 'somebody' })], 0],
  'clients-update': [[JSON.stringify(clients.map((clientId) => ({ ...client, clientId })))], 3 * MANY],
  'client-secrets-remove-unfit': [[clients, 'client_secret_jwt'], 6 * MANY],
  'client-secrets-remove': [[clients], 3 * MANY],
  'client-secrets-outlast': [[clients, 60], 6 * MANY],
  'client-secrets-insert': [[given({ id: UUID, client: 'client-1', hash: 'hash', sealed: null })], 1],
  'names-registered': [[clients], 4 * MANY],
  'clients-claim': [[['somebody']], 0],
  'clients-release': [[clients], 3 * MANY],
  'scopes-claim': [[['somebody']], 0],
  'scopes-release': [[['somebody']], 2],
  'resources-present': [[resources], 2],
  // With its aliases.
  'resources-lock': [[resources], 4],
  'resources-keep': [[resources], 2],
  'resources-insert': [[given({ resource: 'https://new.example' })], 0],
  'resources-update': [[given({ resource: 'https://api-1.example' })], 4],
  'resource-names-find': [[resources, [...resources, 'https://api-1.example/']], 6],
  'resource-aliases-insert': [[['urn:new'], ['urn:new'], resources], 1],
  'resource-aliases-delete': [[resources], 3],
  'resources-claim': [[['urn:new', 'urn:new/']], 0],
  'resources-release': [[['urn:new', 'urn:new/']], 4],
  'resources-list': [['https://api-1.example', 51], 102],
  'resource-delete': [['https://api-999.example'], 6],
  'scopes-present': [[scopes], 4],
  'scopes-lock': [[scopes], 4],
  'scopes-insert': [[given({ name: 'somebody' })], 1],
  'scopes-update': [[given({ name: 'scope-1' })], 4],
  'users-present': [[users], 2 * MANY],
  'users-lock': [[users], 2 * MANY],
  'users-insert': [
    [given({ id: UUID, username: 'somebody', usernameKey: 'somebody', roles: [], claims: {} })],
    0,
  ],
  'trusted-issuers-present': [[['https://id.example']], 20],
  'trusted-issuers-lock': [[['https://id.example']], 20],
  'trusted-issuers-insert': [[given({ issuer: 'https://id.example', generation: UUID })], 0],
  'trusted-issuers-update': [[given({ issuer: 'https://id.example', generation: UUID })], 20],
  'upstreams-present': [[['corp']], 20],
  'upstreams-lock': [[['corp']], 20],
  'upstreams-insert': [[given({ id: 'corp', issuer: 'https://id.example', clientId: 'us' })], 0],
  'upstreams-update': [[given({ id: 'corp', issuer: 'https://id.example', clientId: 'us' })], 20],
  'seed-entries-find': [['client', clients], 2 * MANY],
  'seed-entries-lock': [['client', clients], 2 * MANY],
  'seed-entries-since': [[], 1],
  'seed-entries-insert': [[given({ kind: 'client', key: 'somebody', said: {} })], 0],
  'seed-entries-update': [[given({ kind: 'client', key: 'somebody', said: {} })], 2],
}
