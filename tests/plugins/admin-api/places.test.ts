/** The interface of the administration in more than one process, below a path, in another's app, and with the database away. */
import { expect, test } from 'vitest'
import { callerAs, callerWith, PROGRAMS, startApi, tokenOf } from '../../support/admin-api.ts'
import { startDatabaseProxy } from '../../support/database-proxy.ts'
import { startForeignApp } from '../../support/foreign-app.ts'
import { basic } from '../../support/requests.ts'
import { startBeside } from '../../support/server.ts'
import { until } from '../../support/until.ts'

const server = await startApi()
const beside = await startBeside(server)
const { oauth } = server.server
const all = await callerAs(server, 'all')
const there = callerWith(beside, await tokenOf(server, 'all'))
const root = (await oauth.users.find('root'))!

test('of two administrators who are taken away at once by two processes, one stays', async () => {
  for (let round = 0; round < 5; round++) {
    const made = await all('POST', '/users', { username: `admin-${round}`, roles: ['admin'] })
    const two = [
      all('PATCH', `/users/${made.body.sub}`, { roles: [] }),
      there('PATCH', `/users/${root.id}`, { disabled: true }),
    ]
    const statuses = (await Promise.all(two)).map(({ status }) => status)
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 400])
    await all('PATCH', `/users/${root.id}`, { disabled: false })
    await all('DELETE', `/users/${made.body.sub}`)
  }
  expect(await oauth.users.hasRole('admin')).toBe(true)
})

test('what one process does counts at the other within two seconds: users, clients, and who may call', async () => {
  const { body: client } = await all('POST', '/clients', {
    client_name: 'Short-lived',
    grant_types: ['client_credentials'],
    scope: 'latchkey:users:read',
  })
  const form = { grant_type: 'client_credentials' }
  const answer = await beside.post('/token', form, basic(client.client_id, client.client_secret))
  const { access_token: token } = (await answer.json()) as { access_token: string }
  const call = callerWith(beside, token)
  expect((await call('GET', '/users')).status).toBe(200)
  await all('PATCH', `/clients/${client.client_id}`, { scope: 'read_books' })
  await until(async () => expect((await call('GET', '/users')).status).toBe(403))
  await all('DELETE', `/clients/${client.client_id}`)
  await until(async () => expect((await call('GET', '/users')).status).toBe(401))
})

test('a token that was revoked is good no more', async () => {
  const token = await tokenOf(server, 'reader')
  const call = callerWith(server, token)
  expect((await call('GET', '/users')).status).toBe(200)
  const [{ client_secret: secret }] = PROGRAMS as [(typeof PROGRAMS)[number]]
  expect((await server.post('/revoke', { token }, basic('reader', secret))).status).toBe(200)
  expect((await call('GET', '/users')).status).toBe(401)
})

test('with the database away it is 503, and what was not answered is whole or not there', async () => {
  const proxy = await startDatabaseProxy(server.database.url)
  const { url } = proxy
  const away = await startBeside(server, { DATABASE_URL: url })
  const call = callerWith(away, await tokenOf(server, 'all'))
  const { body: before } = await call('POST', '/users', { username: 'steady', nickname: 'Before' })
  for (const when of ['before', 'after'] as const) {
    proxy.cutAt('user-update', when)
    const changes = { nickname: `cut ${when}`, roles: ['staff', when], disabled: true }
    const answer = await call('PATCH', `/users/${before.sub}`, changes)
    const { body: now } = await all('GET', `/users/${before.sub}`)
    // The statement may have been sent once more.
    expect([200, 503]).toContain(answer.status)
    expect(answer.headers.has('retry-after')).toBe(answer.status === 503)
    const isDone = now.nickname === changes.nickname
    expect(now).toMatchObject(isDone ? changes : { disabled: false })
    expect(isDone || answer.status === 503).toBe(true)
    await all('PATCH', `/users/${before.sub}`, { nickname: 'Before', roles: [], disabled: false })
  }
  await proxy.cut()
  for (const [method, path, body] of [
    ['GET', '/users', undefined],
    ['POST', '/users', { username: 'unsteady' }],
    ['PATCH', `/users/${before.sub}`, { nickname: 'After' }],
    ['DELETE', `/users/${before.sub}`, undefined],
    ['GET', '/audit-events', undefined],
    ['POST', '/clients', { client_id: 'unsteady', grant_types: ['client_credentials'], scope: 'read_books' }],
  ] as const)
    expect((await call(method, path, body)).status).toBe(503)
  await proxy.restore()
  await until(async () => expect((await call('GET', `/users/${before.sub}`)).body.nickname).toBe('Before'))
  expect([await oauth.users.find('unsteady'), await oauth.clients.find('unsteady')]).toEqual([null, null])
})

test('below the path of an issuer, in an app of somebody else, it is where it says', async () => {
  const app = await startForeignApp({ prefix: '/auth', settings: { ADMIN_API: 'on' } })
  for (const one of PROGRAMS) await app.server.oauth.clients.create(one)
  const call = await callerAs(app, 'reader')
  expect((await call('GET', '/users')).body.users).toMatchObject([{ username: 'alice' }])
  const description = (await (await app.get('/admin/api/v1/openapi.json')).json()) as { servers: object[] }
  expect(description.servers).toEqual([{ url: `${app.url}/admin/api/v1` }])
  const refused = await app.get('/admin/api/v1/users')
  const [, metadata] = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate')!)!
  expect(await (await fetch(metadata!)).json()).toMatchObject({ resource: `${app.url}/admin/api/v1` })
})

test('without pages it is there, less what leads to one', async () => {
  const app = await startForeignApp({ pages: false, settings: { ADMIN_API: 'on' } })
  for (const one of PROGRAMS) await app.server.oauth.clients.create(one)
  const call = await callerAs(app, 'all')
  const { users } = (await call('GET', '/users')).body
  expect((await call('PATCH', `/users/${users[0].sub}`, { nickname: 'Al' })).body.nickname).toBe('Al')
  expect((await call('POST', `/users/${users[0].sub}/password-link`, {})).status).toBe(404)
})
