/** Changes of a user by `PATCH` (RFC 7644 §3.5.2): as the RFC has them, and as directories write them. */
import { describe, expect, test } from 'vitest'
import type { Members } from '../../../plugins/scim/attributes.ts'
import { operationsOf, patched } from '../../../plugins/scim/patch.ts'
import { readUser } from '../../../plugins/scim/user-resource.ts'
import { isForeign, USER_SCHEMA } from '../../../plugins/scim/user-schema.ts'
import type { OAuthError } from '../../../src/protocol/errors.ts'
import { ENTERPRISE, USER } from '../../support/scim.ts'

const HAD: Members = {
  schemas: [USER],
  id: 'A1',
  userName: 'zoe',
  name: { familyName: 'Eclair', givenName: 'Zoe' },
  displayName: 'Zoe Eclair',
  active: true,
  emails: [{ value: 'zoe@example.com', type: 'work', primary: true }],
  roles: [{ value: 'staff' }, { value: 'editor' }],
}
const NO_CLAIMS = Object.fromEntries(
  ['name', 'nickname', 'profile', 'locale', 'zoneinfo', 'family_name', 'given_name', 'middle_name', 'email', 'phone_number', 'picture', 'address'].map(
    (claim) => [claim, null],
  ),
) // prettier-ignore
const CLAIMS = {
  ...NO_CLAIMS,
  name: 'Zoe Eclair',
  family_name: 'Eclair',
  given_name: 'Zoe',
  email: 'zoe@example.com',
}
const SENT = { username: 'zoe', externalId: null, active: true, roles: ['staff', 'editor'], claims: CLAIMS }

const after = (...operations: readonly object[]) =>
  readUser(patched(HAD, operationsOf({ Operations: operations }), { schema: USER_SCHEMA, isForeign }))
const withClaims = (claims: object) => ({ ...SENT, claims: { ...CLAIMS, ...claims } })
const [first, second] = SENT.roles
/** SingleAppRoleAssignment of Microsoft Entra ID. */
const single = (value: string) =>
  ['display', 'value', 'type'].map((sub) => ({ op: 'Add', path: `roles[primary eq "True"].${sub}`, value }))

describe('it is as they say', () => {
  test.each<[string, readonly object[], object]>([
    ['replaces one', [{ op: 'replace', path: 'displayName', value: 'Zo' }], withClaims({ name: 'Zo' })],
    ['adds one', [{ op: 'add', path: 'nickName', value: 'Zo' }], withClaims({ nickname: 'Zo' })],
    ['in any case', [{ op: 'Replace', PATH: 'DISPLAYNAME', value: 'Zo' }], withClaims({ name: 'Zo' })],
    ['under the URN', [{ op: 'replace', path: `${USER}:displayName`, value: 'Zo' }], withClaims({ name: 'Zo' })],
    ['takes one away', [{ op: 'remove', path: 'displayName' }], withClaims({ name: null })],
    ['null takes it away', [{ op: 'replace', path: 'displayName', value: null }], withClaims({ name: null })],
    ['empty takes it away', [{ op: 'replace', path: 'displayName', value: '' }], withClaims({ name: null })],
    ['within a complex one', [{ op: 'replace', path: 'name.familyName', value: 'E' }], withClaims({ family_name: 'E' })],
    ['within one that is not there', [{ op: 'remove', path: 'name' }, { op: 'add', path: 'name.middleName', value: 'Q' }], withClaims({ family_name: null, given_name: null, middle_name: 'Q' })],
    ['takes away within', [{ op: 'remove', path: 'name.givenName' }], withClaims({ given_name: null })],
    ['what is not said of a complex one stays', [{ op: 'replace', path: 'name', value: { GivenName: 'Z' } }], withClaims({ given_name: 'Z' })],
    ['many at once, without a path', [{ op: 'replace', value: { displayName: 'Zo', name: { familyName: 'E' }, id: 'ignored', schemas: [] } }], withClaims({ name: 'Zo', family_name: 'E' })],
    ['in lists of one, as SCIM-SDK sends them', [{ op: 'replace', path: 'displayName', value: ['Zo'] }, { op: 'replace', value: [{ name: [{ familyName: 'E' }] }] }, { op: 'replace', path: 'emails[type eq "work"]', value: [{ value: 'z@x.example' }] }], withClaims({ name: 'Zo', family_name: 'E', email: 'z@x.example' })],
    ['the address by its type', [{ op: 'replace', path: 'emails[type eq "work"].value', value: 'z@x.example' }], withClaims({ email: 'z@x.example' })],
    ['the address as another primary one', [{ op: 'add', path: 'emails', value: [{ value: 'z@x.example', primary: true }] }], withClaims({ email: 'z@x.example' })],
    ['another address beside the primary one is not kept', [{ op: 'add', path: 'emails', value: [{ value: 'z@x.example', type: 'home' }] }], SENT],
    ['all addresses', [{ op: 'replace', path: 'emails', value: [{ value: 'z@x.example', type: 'work' }] }], withClaims({ email: 'z@x.example' })],
    ['no address', [{ op: 'remove', path: 'emails[type eq "work"]' }], withClaims({ email: null })],
    ['the value of the address', [{ op: 'remove', path: 'emails[type eq "work"].value' }], withClaims({ email: null })],
    ['each of several', [{ op: 'replace', path: 'emails.value', value: 'z@x.example' }], withClaims({ email: 'z@x.example' })],
    ['a number that is not there yet', [{ op: 'add', path: 'phoneNumbers[type eq "work"].value', value: '+1 55' }], withClaims({ phone_number: '+1 55' })],
    ['a street that is not there yet', [{ op: 'add', path: 'addresses[type eq "work"].streetAddress', value: '1 Way' }], withClaims({ address: { street_address: '1 Way' } })],
    ['a picture', [{ op: 'add', path: 'photos', value: { value: 'https://zoe.example/me.png', type: 'photo' } }], withClaims({ picture: 'https://zoe.example/me.png' })],
    ['one more role', [{ op: 'add', path: 'roles', value: [{ value: 'chief' }] }], { ...SENT, roles: [first, second, 'chief'] }],
    ['a role that they have', [{ op: 'add', path: 'roles', value: [{ value: 'staff' }] }], SENT],
    ['a role less', [{ op: 'remove', path: 'roles[value eq "staff"]' }], { ...SENT, roles: [second] }],
    ['a role less, by its value', [{ op: 'Remove', path: 'roles', value: [{ value: 'staff' }] }], { ...SENT, roles: [second] }],
    ['the only number, which is the primary one', [{ op: 'add', path: 'phoneNumbers[type eq "work"].value', value: '+1' }, { op: 'replace', path: 'phoneNumbers[primary eq true].value', value: '+2' }], withClaims({ phone_number: '+2' })],
    ['a primary number that is not there yet', [{ op: 'replace', path: 'phoneNumbers[primary eq true].value', value: '+2' }], withClaims({ phone_number: '+2' })],
    ['the primary address in parts', [{ op: 'add', path: 'addresses[primary eq true].locality', value: 'Oslo' }, { op: 'add', path: 'addresses[primary eq true].country', value: 'NO' }], withClaims({ address: { locality: 'Oslo', country: 'NO' } })],
    ['the only role, as Entra ID says it', [{ op: 'remove', path: 'roles' }, ...single('editor'), ...single('chief')], { ...SENT, roles: ['chief'] }],
    ['nothing that is not there', [{ op: 'remove', path: 'roles[value eq "none"]' }, { op: 'remove', path: 'nickName' }], SENT],
    ['nothing at all, as the validator of Microsoft asks for', [], SENT],
    ['off', [{ op: 'replace', path: 'active', value: false }], { ...SENT, active: false }],
    ['off, as Entra ID says it', [{ op: 'Replace', path: 'active', value: 'False' }], { ...SENT, active: false }],
    ['off, as Okta says it', [{ op: 'replace', value: { active: false } }], { ...SENT, active: false }],
    ['dotted members, as Entra ID sends them', [{ op: 'add', value: { 'name.givenName': 'Z', 'emails[type eq "work"].value': 'z@x.example', [`${ENTERPRISE}:department`]: 'Tour' } }], withClaims({ given_name: 'Z', email: 'z@x.example' })],
    ['what is not kept here changes nothing', [{ op: 'add', path: 'title', value: 'Dr' }, { op: 'add', path: `${ENTERPRISE}:manager`, value: { value: '7' } }, { op: 'replace', path: 'name.formatted', value: 'Z' }, { op: 'add', value: { userType: 'Employee', ims: [], [ENTERPRISE]: { department: 'Tour' } } }, { op: 'replace', path: 'phoneNumbers[type eq "work"].primary', value: true }], SENT],
    ['one after the other', [{ op: 'remove', path: 'emails' }, { op: 'add', path: 'emails', value: { value: 'z@x.example' } }], withClaims({ email: 'z@x.example' })],
    ['by what the directory knows them', [{ op: 'add', path: 'externalId', value: 'E7' }], { ...SENT, externalId: 'E7' }],
    ['a password', [{ op: 'replace', path: 'password', value: 'a new password' }], { ...SENT, password: 'a new password' }],
  ])('%s', (_what, operations, expected) => {
    expect(after(...operations)).toEqual(expected)
  }) // prettier-ignore
})

describe('refused', () => {
  test.each<[unknown, string, string]>([
    [undefined, 'invalidSyntax', 'Operations must be a list of changes'],
    ['none', 'invalidSyntax', 'Operations must be a list of changes'],
    [{ op: 'add' }, 'invalidSyntax', 'Operations must be a list of changes'],
    [[7], 'invalidSyntax', 'each of the Operations must be an object'],
    [[{ op: 'move', path: 'name' }], 'invalidSyntax', 'op must be add, replace or remove'],
    [[{ op: 'add', path: 'nickName' }], 'invalidValue', 'add needs a value'],
    [[{ op: 'add', path: 7, value: 'x' }], 'invalidPath', 'path must be a text'],
    [[{ op: 'remove' }], 'noTarget', 'remove needs a path'],
    [[{ op: 'replace', value: 'x' }], 'invalidValue', 'replace without a path needs an object'],
    [[{ op: 'replace', path: 'id', value: 'x' }], 'mutability', 'id cannot be changed'],
    [[{ op: 'replace', path: 'meta.created', value: 'x' }], 'mutability', 'meta cannot be changed'],
    [[{ op: 'remove', path: 'userName' }], 'mutability', 'userName cannot be taken away: replace it'],
    [[{ op: 'remove', path: 'active' }], 'mutability', 'active cannot be taken away: replace it'],
    [[{ op: 'replace', value: { shoeSize: 7 } }], 'invalidPath', 'the path names an attribute that is not known here'],
    [[{ op: 'replace', value: { [USER]: { active: false } } }], 'invalidPath', 'the path names an attribute that is not known here'],
    [[{ op: 'replace', path: 'name', value: 'Zoe' }], 'invalidValue', 'name must be an object'],
    [[{ op: 'replace', path: 'name', value: ['Zoe'] }], 'invalidValue', 'name must be an object'],
    [[{ op: 'replace', path: 'emails[type sw "ho"].value', value: 'x' }], 'noTarget', 'no value of emails is as the path says'],
    [single('chief'), 'noTarget', 'no value of roles is as the path says'],
    [[{ op: 'replace', path: 'displayName', value: 7 }], 'invalidValue', 'displayName must be a text'],
    [[{ op: 'replace', path: 'active', value: 'off' }], 'invalidValue', 'active must be true or false'],
    [[{ op: 'replace', path: 'userName', value: '' }], 'invalidValue', 'userName is missing'],
    [[{ op: 'add', path: 'roles', value: [7] }], 'invalidValue', 'each of roles must have a value that is a text'],
    [[{ op: 'replace', path: 'emails', value: [7] }], 'invalidValue', 'emails must be an object'],
    [Array.from({ length: 101 }, () => ({ op: 'remove', path: 'nickName' })), 'tooMany', 'there are more than 100 changes in one request'],
  ])('%j', (operations, code, why) => {
    let refusal: OAuthError | undefined
    try {
      readUser(patched(HAD, operationsOf({ Operations: operations }), { schema: USER_SCHEMA, isForeign }))
    } catch (error) {
      refusal = error as OAuthError
    }
    expect([refusal?.code, refusal?.message]).toEqual([code, why])
  }) // prettier-ignore
})
