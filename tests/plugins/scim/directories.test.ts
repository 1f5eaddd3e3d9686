/** Directories at work, request by request as their vendors document them. */
import { expect, test } from 'vitest'
import { scimAs, ENTERPRISE, LIST, PATCH_OP, startScim, USER } from '../../support/scim.ts'

const server = await startScim()
const { users } = server.server.oauth
const call = await scimAs(server, 'directory')
const find = async (filter: string, more = '') =>
  (await call('GET', `/Users?filter=${encodeURIComponent(filter)}${more}`)).body

test('Microsoft Entra ID provisions somebody, moves them, and lets them go', async () => {
  // Whether the connection works: somebody who cannot be there.
  expect(await find(`userName eq "${crypto.randomUUID()}"`)).toEqual({
    schemas: [LIST],
    totalResults: 0,
    startIndex: 1,
    itemsPerPage: 0,
    Resources: [],
  })
  const made = await call('POST', '/Users', {
    schemas: [USER, ENTERPRISE],
    externalId: 'jyoung',
    userName: 'jyoung@contoso.example',
    active: true,
    displayName: 'Joy Young',
    emails: [{ primary: true, type: 'work', value: 'jyoung@contoso.example' }],
    meta: { resourceType: 'User' },
    name: { formatted: 'Joy Young', familyName: 'Young', givenName: 'Joy' },
    title: 'Adviser',
    preferredLanguage: 'en-US',
    addresses: [{ type: 'work', locality: 'Oslo', country: 'Norway' }],
    phoneNumbers: [
      { type: 'work', value: '+47 1' },
      { type: 'mobile', value: '+47 2' },
    ],
    [ENTERPRISE]: { employeeNumber: '7', department: 'Sales', manager: { value: '1' } },
    roles: [],
  })
  expect(made.status).toBe(201)
  const { id } = made.body
  expect(made.body).toMatchObject({ externalId: 'jyoung', active: true, phoneNumbers: [{ value: '+47 1' }] })
  expect((await find('externalId eq "jyoung"', '&attributes=id')).Resources).toEqual([
    { schemas: [USER], id },
  ])

  const changed = await call('PATCH', `/Users/${id}`, {
    schemas: [PATCH_OP],
    Operations: [
      { op: 'Replace', path: 'displayName', value: 'Joy Old' },
      { op: 'Add', path: 'name.familyName', value: 'Old' },
      { op: 'Replace', path: 'emails[type eq "work"].value', value: 'jold@contoso.example' },
      { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '+47 3' },
      { op: 'Remove', path: 'phoneNumbers[type eq "work"].value' },
      { op: 'Add', path: `${ENTERPRISE}:department`, value: 'Support' },
      { op: 'Add', path: 'title', value: 'Chief' },
      { op: 'Replace', path: 'addresses[type eq "work"].locality', value: 'Bergen' },
    ],
  })
  expect(changed.status).toBe(200)
  expect(changed.body).toMatchObject({
    displayName: 'Joy Old',
    name: { familyName: 'Old', givenName: 'Joy' },
    emails: [{ value: 'jold@contoso.example', type: 'work', primary: true }],
    addresses: [{ locality: 'Bergen', country: 'Norway', type: 'work' }],
  })
  expect(changed.body).not.toHaveProperty('phoneNumbers')

  const off = { schemas: [PATCH_OP], Operations: [{ op: 'Replace', path: 'active', value: 'False' }] }
  expect((await call('PATCH', `/Users/${id}`, off)).body.active).toBe(false)
  expect((await find('userName eq "jyoung@contoso.example"')).Resources[0].active).toBe(false)
  expect((await call('DELETE', `/Users/${id}`)).status).toBe(204)
  expect((await call('GET', `/Users/${id}`)).status).toBe(404)
})

test('Okta provisions somebody, changes them, and lets them go', async () => {
  expect((await call('GET', '/Users?startIndex=1&count=2')).body.itemsPerPage).toBe(2)
  expect((await find('userName eq "test.user@okta.example"', '&startIndex=1&count=100')).totalResults).toBe(0)
  const sent = {
    schemas: [USER],
    userName: 'test.user@okta.example',
    name: { givenName: 'Test', familyName: 'User' },
    emails: [{ primary: true, value: 'test.user@okta.example', type: 'work' }],
    displayName: 'Test User',
    locale: 'en-US',
    externalId: '00ujl29u0le5T6Aj10h7',
    groups: [],
    password: '1mz050nqdCX',
    active: true,
  }
  const { status, body } = await call('POST', '/Users', sent)
  expect(status).toBe(201)
  expect(await users.canSignInByPassword(sent.userName)).toBe(true)

  const { password: _password, ...read } = sent
  const whole = { ...read, id: body.id, name: { givenName: 'Another', familyName: 'User' }, displayName: 'Another User', meta: { resourceType: 'User' } }
  const replaced = await call('PUT', `/Users/${body.id}`, whole)
  expect(replaced.body).toMatchObject({ name: { givenName: 'Another' }, displayName: 'Another User', externalId: sent.externalId })
  expect(await users.canSignInByPassword(sent.userName)).toBe(true)

  const off = { schemas: [PATCH_OP], Operations: [{ op: 'replace', value: { active: false } }] }
  expect((await call('PATCH', `/Users/${body.id}`, off)).body.active).toBe(false)
  const on = { schemas: [PATCH_OP], Operations: [{ op: 'replace', value: { active: true } }] }
  expect((await call('PATCH', `/Users/${body.id}`, on)).body.active).toBe(true)
}) // prettier-ignore
