/** Filters and paths of SCIM (RFC 7644 §3.4.2.2, §3.5.2): what they mean, and which are refused. */
import { describe, expect, test } from 'vitest'
import type { Members } from '../../../plugins/scim/attributes.ts'
import { parseFilter, parsePath } from '../../../plugins/scim/filter.ts'
import { fits, fitting } from '../../../plugins/scim/matching.ts'
import { USER_SCHEMA } from '../../../plugins/scim/user-schema.ts'
import type { OAuthError } from '../../../src/protocol/errors.ts'

const ZOE: Members = {
  schemas: [USER_SCHEMA.id],
  id: 'A1',
  externalId: 'Ext-7',
  userName: 'Zoe@Example.com',
  name: { familyName: 'Éclair', givenName: 'Zoe' },
  displayName: 'Zoe "Z" Eclair',
  active: true,
  emails: [{ value: 'zoe@example.com', type: 'work', primary: true }],
  roles: [{ value: 'staff' }, { value: 'Editor' }],
  meta: { lastModified: '2026-11-30T10:00:00.000Z', resourceType: 'User' },
}
const fitsZoe = (filter: string): boolean => fits(parseFilter(USER_SCHEMA, filter), ZOE)

function refusalOf(read: () => unknown): readonly [string, string] {
  try {
    read()
  } catch (error) {
    const { code, message } = error as OAuthError
    return [code, message]
  }
  return ['taken', '']
}

describe('a resource fits', () => {
  test.each([
    'userName eq "zoe@example.com"',
    'USERNAME EQ "ZOE@EXAMPLE.COM"',
    'urn:ietf:params:scim:schemas:core:2.0:User:userName sw "zoe"',
    'id eq "A1"',
    'externalId eq "Ext-7"',
    'name.familyName eq "e\u0301clair"',
    'displayName co "\\"z\\""',
    'displayName ew "CLAIR"',
    'active eq true',
    'active eq "True"',
    'active ne false',
    'emails co "@example.com"',
    'emails.value eq "zoe@example.com"',
    'emails[type eq "work" and value ew "example.com"]',
    'emails[type eq "work"].value eq "zoe@example.com"',
    'emails[primary eq true]',
    'roles eq "staff"',
    'roles[value eq "Editor"]',
    'roles pr',
    'name pr',
    'nickName eq null',
    'not (nickName pr)',
    'nickName ne "z"',
    'meta.lastModified gt "2026-11-30T09:59:59Z"',
    'meta.lastModified ge "2026-11-30T11:00:00+01:00" and meta.lastModified le "2026-11-30T11:00:00+01:00"',
    'userName gt "a" and userName lt "zz"',
    'userName eq "nobody" or active eq true',
    'active eq true or userName eq "nobody" and id eq "none"',
    '(active eq false or id eq "A1") and userName pr',
    'not (userName eq "nobody")',
    '  userName   eq   "zoe@example.com"  ',
  ])('%s', (filter) => {
    expect(fitsZoe(filter)).toBe(true)
  })

  test.each([
    'id eq "a1"',
    'externalId eq "ext-7"',
    'userName ne "zoe@example.com"',
    'userName eq 7',
    'active eq false',
    'emails[type eq "home"]',
    'emails[type eq "home" or value eq "other"]',
    'emails[type eq "work" and value eq "other"]',
    'emails[type eq "work"].value eq "other"',
    'roles eq "STAFF"',
    'roles ne "staff"',
    'nickName pr',
    'nickName co ""',
    'phoneNumbers pr',
    '(active eq true or id eq "A1") and userName eq "nobody"',
    'not (active eq true)',
    'meta.lastModified lt "2026-11-30T10:00:00Z"',
  ])('not: %s', (filter) => {
    expect(fitsZoe(filter)).toBe(false)
  })
})

test('while very many are looked through, others are served', async () => {
  const filter = parseFilter(
    USER_SCHEMA,
    `roles co "none"${' or roles co "none"'.repeat(98)} or id eq "last"`,
  )
  const roles = Array.from({ length: 500 }, (_, n) => ({ value: `role-of-a-group-${n}` }))
  const all = ['first', ...Array.from({ length: 40 }, (_, n) => `${n}`), 'last']
  let turns = 0
  const serve = (): unknown => (turns++, (served = setImmediate(serve)))
  let served = setImmediate(serve)
  const found = await fitting(filter, all, (id) => ({ id, roles }))
  clearImmediate(served)
  expect([found, turns > 1]).toEqual([['last'], true])
})

describe('refused', () => {
  test.each([
    ['', 'the filter ends too early'],
    ['userName', 'the filter ends too early'],
    ['userName eq', 'the filter ends too early'],
    ['userName eq "x', 'the filter cannot be read'],
    ['userName eq x', 'the filter compares with what is no text, number, true, false or null'],
    ['userName eq -', 'the filter compares with what is no text, number, true, false or null'],
    ['userName eq "\\x"', 'the filter compares with what is no text, number, true, false or null'],
    ['userName is "x"', 'the filter has an operator that is not known'],
    ['usrName eq "x"', 'the filter names an attribute that is not known here'],
    ['name.shoeSize eq "x"', 'the filter names an attribute that is not known here'],
    ['name.familyName.first eq "x"', 'the filter names an attribute that is not known here'],
    ['__proto__ pr', 'the filter names an attribute that is not known here'],
    ['constructor.name pr', 'the filter names an attribute that is not known here'],
    ['emails[size eq "x"]', 'the filter names an attribute that emails has not'],
    ['emails[type eq "work"].size eq "x"', 'the filter names an attribute that emails has not'],
    ['name[familyName eq "x"]', 'the filter has brackets after name, which has one value'],
    ['emails[type eq "work"', 'the filter lacks a ]'],
    ['(userName pr', 'the filter lacks a )'],
    ['(userName pr]', 'the filter lacks a )'],
    ['userName pr)', 'the filter goes on after its end'],
    ['userName pr active pr', 'the filter goes on after its end'],
    ['active gt true', 'the filter has gt, which compares texts and times alone'],
    ['active co "t"', 'the filter has co, which compares texts alone'],
    ['userName co 7', 'the filter has co, which compares texts alone'],
    ['meta.created gt "yesterday"', 'the filter compares a time with what is none'],
    [`${'('.repeat(17)}userName pr${')'.repeat(17)}`, 'the filter is nested too deeply'],
    [`${'not ('.repeat(800)}userName pr`, 'the filter is nested too deeply'],
    [`userName eq "${'x'.repeat(4096)}"`, 'the filter has more than 4096 characters'],
    [`id pr${' or id pr'.repeat(100)}`, 'the filter has more than 100 comparisons'],
    [`emails[value pr${' or value pr'.repeat(99)}].value pr`, 'the filter has more than 100 comparisons'],
  ])('%s', (filter, why) => {
    expect(refusalOf(() => parseFilter(USER_SCHEMA, filter))).toEqual(['invalidFilter', why])
  })

  test.each([
    ['', 'the path ends too early'],
    ['shoeSize', 'the path names an attribute that is not known here'],
    ['emails[type eq "work"', 'the path lacks a ]'],
    ['emails[type eq "work"].size', 'the path names an attribute that emails has not'],
    ['emails[type eq "work"] value', 'the path goes on after its end'],
    ['name[familyName eq "x"]', 'the path has brackets after name, which has one value'],
    ['emails.value[type eq "work"]', 'the path has brackets after emails, which has one value'],
  ])('the path %s', (path, why) => {
    expect(refusalOf(() => parsePath(USER_SCHEMA, path))).toEqual(['invalidPath', why])
  })
})
