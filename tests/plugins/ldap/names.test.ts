/** Names and filters of a directory, in one form, and what may be neither. @needs latchkey-ldap */
import { FilterParser } from 'ldapts'
import { expect, test } from 'vitest'
import { nameKey } from '../../../plugins/ldap/names.ts'
import {
  escapeValue,
  filterFor,
  filterForAny,
  isCalled,
  userFilterProblem,
} from '../../../src/protocol/ldap-filter.ts'

test('two spellings of one name are one, and two names are two', () => {
  const same = [
    'cn=Staff\\, All,ou=Groups,dc=example,dc=com',
    'CN=staff\\2C  all, OU=groups , DC=Example,DC=com',
  ]
  expect(nameKey(same[0]!)).toBe(nameKey(same[1]!))
  expect(nameKey('cn=a+sn=b,dc=c')).toBe(nameKey('SN=b + CN=a,dc=c'))
  expect(nameKey('cn=J\\c3\\bcrgen,dc=c')).toBe(nameKey('cn=jürgen,dc=c'))
  expect(nameKey('cn=a\\,ou=b,dc=c')).not.toBe(nameKey('cn=a,ou=b,dc=c'))
  expect(nameKey('cn=a\\+sn\\=b,dc=c')).not.toBe(nameKey('cn=a+sn=b,dc=c'))
})

test('what is escaped is read once, so that nobody is of a group that is only spelled like another', () => {
  expect(nameKey('cn=ad\\5Cmins,dc=c')).not.toBe(nameKey('cn=admins,dc=c'))
  expect(nameKey('cn=ad\\5Cmins,dc=c')).toBe(nameKey('cn=ad\\\\mins,dc=c'))
  expect(nameKey('cn=\\\\61dmins,dc=c')).toBe(nameKey('cn=\\5c61dmins,dc=c'))
  expect(nameKey('cn=\\5C2Cx,dc=c')).not.toBe(nameKey('cn=\\2Cx,dc=c'))
  expect(nameKey('cn=admins\\ ,dc=c')).toBe(nameKey('cn=admins\\20,dc=c'))
  expect(nameKey('cn=admins\\ ,dc=c')).not.toBe(nameKey('cn=admins\\5C,dc=c'))
})

test('what somebody types is a value of the filter, and nothing else of it', () => {
  const typed = '*)(uid=*))(|(uid=\\2a\0é😀'
  expect(escapeValue(typed)).toBe('\\2a\\29\\28uid=\\2a\\29\\29\\28|\\28uid=\\5c2a\\00é😀')
  expect(filterFor('(&(a=b)(uid={username}))', '$&{username}')).toBe('(&(a=b)(uid=$&{username}))')
  const filter = FilterParser.parseString(filterFor('(|(uid={username})(mail={username}))', typed))
  expect(filter).toMatchObject({
    filters: [
      { attribute: 'uid', value: typed },
      { attribute: 'mail', value: typed },
    ],
  })
})

test('a filter compares with the name in ways that can be checked', () => {
  for (const good of [
    '(uid={username})',
    '(|(uid={username})(mail={username}))',
    '(&(objectClass=person)(proxyAddresses=smtp:{username}))',
    '(cn:caseExactMatch:={username})',
  ])
    expect(userFilterProblem(good)).toBeUndefined()
  for (const bad of [
    'uid={username}',
    '(uid=*)',
    '(uid={username}*)',
    '(uid=*{username})',
    '(uid>={username})',
    '(uid~={username})',
    '({username}=x)',
    '(uid={username}x)',
    '(|(uid={username})(mail=*{username}*))',
  ])
    expect(userFilterProblem(bad)).toBeDefined()
  expect(filterForAny('(&(objectClass=person)(|(uid={username})(m=smtp:{username}))(!(off=TRUE)))')).toBe(
    '(&(objectClass=person)(|(uid=*)(m=*))(!(off=TRUE)))',
  )
})

test('an entry is called so by our own rules', () => {
  const values = (attribute: string) =>
    ({ uid: ['Ada', 'countess'], m: ['SMTP:Ada@example.org'] })[attribute] ?? []
  const template = '(|(uid={username})(m=smtp:{username}))'
  for (const name of ['ada', 'ADA', ' Countess ', 'ada@EXAMPLE.org'])
    expect(isCalled(template, name, values)).toBe(true)
  for (const name of ['ａｄａ', 'a da', 'ada\u00ad', 'smtp:ada@example.org', '', 'x'.repeat(300)])
    expect(isCalled(template, name, values)).toBe(false)
})
