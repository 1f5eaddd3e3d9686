/** What LDAP_URL and what is beside it may be. @needs latchkey-ldap */
import { glob, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { parseConfig } from '../../../src/config.ts'
import { ldapConfig } from '../../../src/settings/ldap.ts'

const BASE = { LDAP_URL: 'ldaps://ldap.example.com', LDAP_BASE_DN: 'dc=example,dc=com' }
const read = (more: Record<string, string | undefined>) => ldapConfig(parseConfig({ ...BASE, ...more }, []))

test('passwords go to another machine under TLS alone, unless somebody says that it is unsafe', () => {
  const plain = { LDAP_URL: 'ldap://ldap.example.com', LDAP_START_TLS: 'false' }
  expect(() => read(plain)).toThrow(/^LDAP_START_TLS must be true/)
  expect(read({ ...plain, UNSAFE_LDAP_PLAINTEXT: 'true' })).toMatchObject({ startTls: false })
  expect(read({ ...plain, LDAP_URL: 'ldap://127.0.0.1:389' })).toMatchObject({ startTls: false })
  expect(read({ LDAP_URL: 'ldap://ldap.example.com' })).toMatchObject({ startTls: true })
  expect(read({})).toMatchObject({ startTls: false, url: new URL('ldaps://ldap.example.com') })
})

test('what cannot be meant is refused with the name of the setting, and without a password', () => {
  const refused: [Record<string, string | undefined>, RegExp][] = [
    [{ LDAP_URL: 'https://ldap.example.com' }, /^LDAP_URL must be an address/],
    [{ LDAP_URL: 'ldaps://' }, /^LDAP_URL must be an address/],
    [{ LDAP_URL: 'ldaps://me:secret@ldap.example.com' }, /^LDAP_URL must be an address/],
    [{ LDAP_URL: 'ldaps://ldap.example.com/dc=example,dc=com?uid' }, /^LDAP_URL must be an address/],
    [{ LDAP_BASE_DN: undefined }, /^LDAP_BASE_DN must be set/],
    [{ LDAP_BIND_DN: 'cn=latchkey' }, /^LDAP_BIND_DN and LDAP_BIND_PASSWORD belong together/],
    [{ LDAP_BIND_PASSWORD: 'secret' }, /^LDAP_BIND_DN and LDAP_BIND_PASSWORD belong together/],
    [{ LDAP_USER_FILTER: '(uid={username}*)' }, /^LDAP_USER_FILTER must compare/],
    [{ LDAP_DOMAIN: 'CORP\\' }, /^LDAP_DOMAIN must be the name of a domain/],
    [{ LDAP_GUESSES: '0' }, /^LDAP_GUESSES must be/],
    [{ LDAP_ID_ATTRIBUTE: '1.2.3)' }, /^LDAP_ID_ATTRIBUTE must be the name of an attribute/],
    [{ LDAP_ROLES: 'staff' }, /^LDAP_ROLES must have entries/],
    [{ LDAP_ROLES: 'a b=cn=staff' }, /^LDAP_ROLES must have entries/],
    [{ LDAP_GROUP_FILTER: '(cn=staff)' }, /^LDAP_GROUP_FILTER must name/],
    [{ LDAP_PASSWORD_URL: 'javascript:alert(1)' }, /^LDAP_PASSWORD_URL must be an https address/],
    [{ LDAP_URL: undefined }, /^LDAP_BASE_DN needs LDAP_URL/],
  ]
  for (const [given, why] of refused) {
    expect(() => read(given)).toThrow(why)
    expect(() => read(given)).not.toThrow(/secret/)
  }
})

test('roles are read by groups, whatever stands in the names of these', () => {
  expect(read({ LDAP_ROLES: ' staff = cn=staff,dc=x ; admin=cn=a\\;b\\=c,dc=x;' })!.roles).toEqual([
    { role: 'staff', group: 'cn=staff,dc=x' },
    { role: 'admin', group: 'cn=a\\;b\\=c,dc=x' },
  ])
})

test('what speaks LDAP is loaded with the first question, so that a server without a directory has none of it', async () => {
  const loading: string[] = []
  for await (const file of glob('{plugins,src}/**/*.ts'))
    for (const [line] of (await readFile(file, 'utf8')).matchAll(/^.*from 'ldapts'$/gm))
      if (!line.startsWith('import type ')) loading.push(file)
  expect(loading).toEqual([])
})
