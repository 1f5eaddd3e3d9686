/** Two administrators who save one thing at the same moment: what each has changed of it stands there, and neither undoes the other. */
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { rowsWith } from '../../support/left-out.ts'
import { startServer } from '../../support/server.ts'
import { createAssertionKey } from '../../support/trusted-issuer.ts'
import { findForm, type Page } from '../../support/user-agent.ts'
import { ROOT, signedIn } from './administrator.ts'

const API = 'https://books.example/'
const ISSUER = 'https://login.example'
const key = await createAssertionKey()
const server = await startServer({}, {
  seed: {
    users: [ROOT],
    resources: [{ resource: API, name: 'Books' }],
    scopes: [{ name: 'read', description: 'Read' }],
    trusted_issuers: [{ issuer: ISSUER, jwks: { keys: [key.jwk] }, subject: 'email', scopes: ['read'] }],
    upstreams: [{ id: 'corp', issuer: 'https://corp.example', client_id: 'here', name: 'Corp' }],
  },
}) // prettier-ignore
const { resources, trustedIssuers, upstreams } = kernelOf(server.server)
const WAITING = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

/** Both have read what is there when they come to write: its row is held until they wait for it. */
async function bothAtOnce(row: string, saves: readonly (() => Promise<Page>)[]): Promise<Page[]> {
  const holder = new Client({ connectionString: server.database.url })
  await holder.connect()
  try {
    await holder.query('begin')
    await holder.query(`select from ${row} for update`)
    const saving = Promise.all(saves.map(async (save) => save()))
    await expect.poll(async () => server.database.query(WAITING)).toHaveLength(saves.length)
    await holder.query('commit')
    return await saving
  } finally {
    await holder.end()
  }
}

interface Row {
  row: string
  id: string
  one: Record<string, string>
  other: Record<string, string>
  find: () => Promise<object | null>
  expected: object
}

const ROWS: Record<string, Row> = {
  '/resource': {
    row: `resources where resource = '${API}'`,
    id: API,
    one: { name: 'All books' },
    other: { access_token_lifetime: '60', aliases: 'https://shelf.example/' },
    find: async () => resources.findResource(API),
    expected: { name: 'All books', access_token_lifetime: 60, aliases: ['https://shelf.example/'] },
  },
  '/scope': {
    row: `scopes where name = 'read'`,
    id: 'read',
    one: { description: 'Read the books' },
    other: { resource: API },
    find: async () => resources.findScope('read'),
    expected: { description: 'Read the books', resource: API },
  },
  '/trusted-issuer': {
    row: `trusted_issuers where issuer = '${ISSUER}'`,
    id: ISSUER,
    one: { disabled: 'true' },
    other: { clients: 'app', claims: 'role=reader' },
    find: async () => trustedIssuers.find(ISSUER),
    expected: {
      disabled: true,
      clients: ['app'],
      claims: { role: 'reader' },
      jwks: { keys: [key.jwk] },
      scopes: ['read'],
    },
  },
  ...rowsWith('latchkey-upstreams', {
    '/upstream': {
      row: `upstreams where id = 'corp'`,
      id: 'corp',
      one: { name: 'Corporation' },
      other: { domains: 'corp.example' },
      find: async () => upstreams.find('corp'),
      expected: { name: 'Corporation', domains: ['corp.example'], client_id: 'here' },
    },
  }),
}

test.each(Object.entries(ROWS))('of %s', async (path, { row, id, one, other, find, expected }) => {
  const agents = await Promise.all([signedIn(server), signedIn(server)])
  const address = `${server.url}/admin${path}?${new URLSearchParams({ id }).toString()}`
  const saves = await Promise.all(
    [one, other].map(async (fields, at) => {
      const page = await agents[at]!.get(address)
      return async () => agents[at]!.submit(page, 'record', fields)
    }),
  )
  for (const page of await bothAtOnce(row, saves)) {
    expect(page.status).toBe(200)
    expect(page.body).toContain('role="status"')
  }
  expect(await find()).toMatchObject(expected)
  const shown = findForm(await agents[0].get(address), 'record')!.fields
  for (const [name, value] of Object.entries({ ...one, ...other })) expect(shown[name]).toBe(value)
})
