/** SCIM in more than one process, below a path, in another's app, and with the database away. */
import { expect, test } from 'vitest'
import { startDatabaseProxy } from '../../support/database-proxy.ts'
import { startForeignApp } from '../../support/foreign-app.ts'
import { DIRECTORIES, ERROR, patchOf, scimAs, scimWith, startScim, USER } from '../../support/scim.ts'
import { tokenOf } from '../../support/admin-api.ts'
import { startBeside } from '../../support/server.ts'
import { until } from '../../support/until.ts'

const server = await startScim()
const { users } = server.server.oauth
const call = await scimAs(server, 'directory')

test('with the database away it is 503, and what was not answered is whole or not there', async () => {
  const proxy = await startDatabaseProxy(server.database.url)
  const away = await startBeside(server, { DATABASE_URL: proxy.url })
  const there = scimWith(away, await tokenOf(server, 'directory'))
  const { body: zoe } = await call('POST', '/Users', { schemas: [USER], userName: 'zoe', externalId: 'z' })
  for (const statement of ['user-update', 'user-record-put'])
    for (const when of ['before', 'after'] as const) {
      const name = `${statement} ${when}`
      proxy.cutAt(statement, when)
      const change = [{ op: 'add', path: 'nickName', value: name }, { op: 'replace', path: 'externalId', value: name }, { op: 'replace', path: 'active', value: false }]
      const answer = await there('PATCH', `/Users/${zoe.id}`, patchOf(...change))
      const { body: now } = await call('GET', `/Users/${zoe.id}`)
      const isDone = now.nickName === name
      // The statement may have been sent once more.
      expect([200, 503]).toContain(answer.status)
      expect(answer.headers.has('retry-after')).toBe(answer.status === 503)
      expect(now).toMatchObject(isDone ? { externalId: name, active: false } : { externalId: 'z', active: true })
      expect(isDone || answer.status === 503).toBe(true)
      await call('PUT', `/Users/${zoe.id}`, { schemas: [USER], userName: 'zoe', externalId: 'z', active: true })
    }
  await proxy.cut()
  for (const [method, path, body] of [
    ['GET', '/Users', undefined],
    ['POST', '/Users', { userName: 'unsteady' }],
    ['PATCH', `/Users/${zoe.id}`, patchOf({ op: 'add', path: 'nickName', value: 'After' })],
    ['DELETE', `/Users/${zoe.id}`, undefined],
  ] as const)
    expect(await there(method, path, body)).toMatchObject({ status: 503, body: { schemas: [ERROR], status: '503' } })
  await proxy.restore()
  await until(async () => expect((await there('GET', `/Users/${zoe.id}`)).body).not.toHaveProperty('nickName'))
  expect(await users.find('unsteady')).toBeNull()
}) // prettier-ignore

test('what is done is told, also where the database goes away behind it', async () => {
  const proxy = await startDatabaseProxy(server.database.url)
  const away = await startBeside(server, { DATABASE_URL: proxy.url })
  const there = scimWith(away, await tokenOf(server, 'directory'))
  proxy.cutAt('user-records-of-users', 'before')
  const made = await there('POST', '/Users', { schemas: [USER], userName: 'done', externalId: 'd' })
  expect([made.status, made.body.externalId]).toEqual([201, 'd'])
  expect((await call('GET', `/Users/${made.body.id}`)).body).toEqual(made.body)
}) // prettier-ignore

test('below the path of an issuer, in an app of somebody else, it is where it says', async () => {
  const app = await startForeignApp({ prefix: '/auth', settings: { SCIM: 'on' } })
  for (const one of DIRECTORIES) await app.server.oauth.clients.create(one)
  const there = await scimAs(app, 'directory')
  const { status, body, headers } = await there('POST', '/Users', { schemas: [USER], userName: 'zoe' })
  expect([status, body.meta.location]).toEqual([201, `${app.url}/scim/v2/Users/${body.id}`])
  expect(headers.get('location')).toBe(body.meta.location)
  expect((await there('GET', '/Schemas')).body.Resources[0].meta.location).toBe(`${app.url}/scim/v2/Schemas/${USER}`)
  for (const [method, path, sent] of [['GET', '/Nothing'], ['GET', ''], ['PUT', '/Users', {}], ['POST', '/Users', '{']] as const) {
    const answer = await there(method, path, sent)
    expect([answer.body.schemas, answer.headers.get('content-type')]).toEqual([[ERROR], 'application/scim+json'])
  }
  // What is not ours there is answered as the app does.
  const { origin } = new URL(app.url)
  for (const path of ['/scim/v2/Users', '/authors', '/'])
    expect(await (await fetch(`${origin}${path}`)).json()).toHaveProperty('statusCode', 404)
}) // prettier-ignore
