/** Many changes in one request (RFC 7644 §3.7). */
import { describe, expect, test } from 'vitest'
import type { BearerCall } from '../../../src/doors/endpoint.ts'
import { bulkOperation } from '../../../plugins/scim/bulk.ts'
import { scimAnswer, type ScimOperation } from '../../../plugins/scim/serving.ts'
import { ERROR, GROUP, patchOf, scimAs, startScim, USER } from '../../support/scim.ts'

const server = await startScim()
const { users, audit } = server.server.oauth
const [call, viewer] = await Promise.all(
  ['directory', 'viewer'].map(async (client) => scimAs(server, client)),
)
const BULK = 'urn:ietf:params:scim:api:messages:2.0:BulkRequest'
const bulk = async (Operations: readonly object[], more: object = {}) =>
  call!('POST', '/Bulk', { schemas: [BULK], Operations, ...more })
const made = (bulkId: string, userName: string, more: object = {}) => ({
  method: 'POST',
  path: '/Users',
  bulkId,
  data: { schemas: [USER], userName, ...more },
})
const statusesOf = ({ body }: { body: { Operations: { status: string }[] } }) =>
  body.Operations.map(({ status }) => status)

test('a group and its members are made, changed and deleted, whatever stands first', async () => {
  const group = { schemas: [GROUP], displayName: 'Tour Guides', members: [{ value: 'bulkId:qwerty' }] }
  const { status, body } = await bulk([
    { method: 'POST', path: '/Groups', bulkId: 'ytrewq', data: group },
    made('qwerty', 'alice-b', { externalId: 'e-1' }),
    { method: 'patch', path: '/Users/bulkId:qwerty', data: patchOf({ op: 'add', path: 'nickName', value: 'A' }) },
  ])
  const { id, roles, claims } = (await users.find('alice-b'))!
  expect([status, roles, claims]).toEqual([200, ['Tour-Guides'], { nickname: 'A' }])
  expect(body).toEqual({
    schemas: ['urn:ietf:params:scim:api:messages:2.0:BulkResponse'],
    Operations: [
      { method: 'POST', bulkId: 'ytrewq', location: expect.stringMatching(/\/scim\/v2\/Groups\/[-0-9a-f]{36}$/), version: expect.stringMatching(/^W\//), status: '201' },
      { method: 'POST', bulkId: 'qwerty', location: `${server.url}/scim/v2/Users/${id}`, version: expect.stringMatching(/^W\//), status: '201' },
      { method: 'PATCH', location: `${server.url}/scim/v2/Users/${id}`, version: expect.stringMatching(/^W\//), status: '200' },
    ],
  })
  const [event] = (await audit.list({ type: 'user.registered', user: id })).events
  expect(event!.actor).toEqual({ kind: 'client', id: 'directory' })
  const { location } = body.Operations[0]
  const path = new URL(location as string).pathname.replace('/scim/v2', '')
  const ended = await bulk([{ method: 'DELETE', path }, { method: 'DELETE', path: `/Users/${id}` }])
  expect(ended.body.Operations).toEqual([
    { method: 'DELETE', location, status: '204' },
    { method: 'DELETE', location: `${server.url}/scim/v2/Users/${id}`, status: '204' },
  ])
  expect(await users.find('alice-b')).toBeNull()
}) // prettier-ignore

test('each is done or refused by itself, and after so many that are refused the rest is left', async () => {
  const wrong = [made('a', 'one'), made('b', 'one'), made('c', 'root'), made('d', 'two')]
  const answer = await bulk(wrong)
  expect(statusesOf(answer)).toEqual(['201', '409', '409', '201'])
  expect(answer.body.Operations[1]).toEqual({
    method: 'POST',
    bulkId: 'b',
    status: '409',
    response: { schemas: [ERROR], status: '409', scimType: 'uniqueness', detail: expect.any(String) },
  })
  const again = [made('a', 'one'), made('b', 'three'), made('c', 'two'), made('d', 'four')]
  expect(statusesOf(await bulk(again, { failOnErrors: 2 }))).toEqual(['409', '201', '409'])
  expect(await users.find('four')).toBeNull()
})

test('versions, administrators and names are judged as in requests of their own', async () => {
  const root = (await users.find('root'))!
  const { body } = await call!('POST', '/Users', { schemas: [USER], userName: 'judged' })
  const path = `/Users/${body.id as string}`
  const change = { method: 'PATCH', path, data: patchOf({ op: 'add', path: 'nickName', value: 'J' }) }
  const answer = await bulk([
    { ...change, version: body.meta.version },
    { ...change, version: body.meta.version },
    { method: 'DELETE', path: `/Users/${root.id}` },
    { method: 'POST', path: '/Groups', bulkId: 'g', data: { schemas: [GROUP], displayName: 'admin' } },
    { method: 'DELETE', path: '/Users/nobody' },
    { method: 'DELETE', path: '/Users' },
    { method: 'POST', path: '/Users/.search', bulkId: 's', data: {} },
    { method: 'POST', path: '/Bulk', bulkId: 'again', data: {} },
    { method: 'PATCH', path: '/Users/bulkId:none', data: patchOf() },
  ])
  expect(statusesOf(answer)).toEqual(['200', '412', '403', '403', '404', '404', '404', '404', '409'])
})

test('in a circle one cannot be before the other', async () => {
  const group = (bulkId: string, other: string) => ({
    method: 'POST',
    path: '/Groups',
    bulkId,
    data: { schemas: [GROUP], displayName: bulkId, members: [{ value: `bulkId:${other}` }] },
  })
  expect(statusesOf(await bulk([group('one', 'two'), group('two', 'one')]))).toEqual(['409', '409'])
})

describe('as a whole', () => {
  test.each<[object, number]>([
    [{}, 400],
    [{ Operations: {} }, 400],
    [{ Operations: [7] }, 400],
    [{ Operations: [{ method: 'GET', path: '/Users' }] }, 400],
    [{ Operations: [{ method: 'POST', path: '/Users', data: {} }] }, 400],
    [{ Operations: [{ method: 'DELETE' }] }, 400],
    [{ Operations: [{ method: 'PUT', path: '/Users/x' }] }, 400],
    [{ Operations: [made('a', 'x'), made('a', 'y')] }, 400],
    [{ Operations: [made('', 'x'), made('b', 'y')] }, 400],
    [{ Operations: [], failOnErrors: 0 }, 400],
    [{ Operations: Array.from({ length: 101 }, () => ({ method: 'DELETE', path: '/Users/x' })) }, 413],
    [{ schemas: [USER], Operations: [] }, 400],
    [{ Operations: [] }, 200],
  ])('%j', async (body, status) => {
    expect((await call!('POST', '/Bulk', body)).status).toBe(status)
    expect(await users.find('x')).toBeNull()
  })

  test('who may read alone changes nothing, and the limits are told', async () => {
    expect((await viewer!('POST', '/Bulk', { Operations: [] })).status).toBe(403)
    const limits = { supported: true, maxOperations: 100, maxPayloadSize: 65_536 }
    expect((await call!('GET', '/ServiceProviderConfig')).body.bulk).toEqual(limits)
  })
})

test('what is told of a change is its address and version: nothing else is read, whatever the request asks for', async () => {
  const { body } = await call!('POST', '/Groups', { schemas: [GROUP], displayName: 'Read By Nobody' })
  const data = patchOf({ op: 'replace', path: 'externalId', value: 'x' })
  const change = { method: 'PATCH', path: `/Groups/${body.id}`, data }
  const sent = { schemas: [BULK], Operations: [change] }
  const answer = await call!('POST', '/Bulk?attributes=members&excludedAttributes=id', sent)
  expect(statusesOf(answer)).toEqual(['200'])
})

test('what is not begun in time is answered so, and is not done', async () => {
  const begun: string[] = []
  const creating: ScimOperation = {
    method: 'POST',
    path: '/Users',
    scope: 'latchkey:scim:write',
    async handle({ body }) {
      begun.push(String(body['userName']))
      return scimAnswer({}, { status: 201, headers: { location: `/Users/${begun.length}` } })
    },
  }
  const { log } = server.server
  const request = { server: server.server, log, headers: {}, raw: {}, routeOptions: {}, url: '/', id: 'x' }
  const sent = { request, body: { Operations: [made('a', 'in-time'), made('b', 'too-late')] } }
  const statuses = async (within: number) => {
    const { text } = await bulkOperation([creating], '', within).handle(sent as unknown as BearerCall)
    return statusesOf({ body: JSON.parse(text!) })
  }
  expect([await statuses(-1), begun]).toEqual([['503', '503'], []])
  expect([await statuses(60_000), begun]).toEqual([
    ['201', '201'],
    ['in-time', 'too-late'],
  ])
})
