/** Binds that are slow, lost or refused in odd ways tell nobody who is in the directory. @needs latchkey-ldap */
import { afterEach, expect, test, vi } from 'vitest'
import { createDirectory } from '../../../plugins/ldap/directory.ts'
import { parseConfig } from '../../../src/config.ts'
import { pino } from 'pino'
import { ldapConfig } from '../../../src/settings/ldap.ts'
import { passTime } from '../../support/clocks.ts'
import { type Answer, done, entry, startLyingDirectory } from '../../support/lying-directory.ts'

const ADA = 'uid=ada,dc=example,dc=org'
const SERVICE = 'cn=service,dc=example,dc=org'
const GROUPS = 'ou=groups,dc=example,dc=org'

afterEach(() => void vi.useRealTimers())

const asService = { LDAP_BIND_DN: SERVICE, LDAP_BIND_PASSWORD: 'secret' }

/** Asks a directory that has ada alone, and binds her so. */
async function directoryWith(bindAda: Answer, more: Record<string, string> = asService) {
  const { url } = await startLyingDirectory((question) => {
    const { operation, dn, boundAs, text } = question
    if (operation === 'bind') return dn === ADA ? bindAda(question) : [done(question)]
    // Each reads another group.
    if (dn === GROUPS) return [entry(question, `cn=of ${boundAs || 'nobody'}`, {}), done(question)]
    const found = text.includes('ada') ? [entry(question, ADA, { uid: 'ada', entryUUID: 'a' })] : []
    return [...found, done(question)]
  })
  const settings = {
    LDAP_URL: url,
    LDAP_START_TLS: 'false',
    LDAP_BASE_DN: 'dc=example,dc=org',
    ...more,
  }
  return createDirectory(ldapConfig(parseConfig(settings, []))!, pino({ level: 'silent' }))
}

test('an unknown name does not wait for what was never answered', async () => {
  const directory = await directoryWith(() => {
    passTime(6000)
    return []
  })
  await expect(directory.authenticate('ada', 'a password')).rejects.toThrow('closed')
  expect(await directory.authenticate('nobody', 'a password')).toBeNull()
})

test('nor longer than there is time', async () => {
  const directory = await directoryWith((question) => {
    passTime(6000)
    return [done(question, 49)]
  })
  expect(await directory.authenticate('ada', 'a password')).toBeNull()
  expect(await directory.authenticate('nobody', 'a password')).toBeNull()
})

test('whatever refuses the bind, it tells nobody that there is such a name; busy is no refusal', async () => {
  let code = 0
  const directory = await directoryWith((question) => [done(question, code, 'not like this')])
  for (code of [1, 7, 8, 10, 13, 16, 19, 32, 34, 48, 49, 50, 53, 80])
    expect(await directory.authenticate('ada', 'a password')).toBeNull()
  for (code of [51, 52]) await expect(directory.authenticate('ada', 'a password')).rejects.toThrow('not like')
  code = 0
  expect(await directory.authenticate('ada', 'a password')).toMatchObject({ subject: 'a' })
})

test.each([
  ['the service', asService, `cn=of ${SERVICE}`],
  ['nobody, where there is none', {}, 'cn=of nobody'],
])('the groups of who has signed in are read as %s', async (_who, more, group) => {
  const roles = {
    LDAP_ROLES: `staff=cn=staff,${GROUPS}`,
    LDAP_GROUP_BASE_DN: GROUPS,
    LDAP_GROUP_FILTER: '(member={dn})',
  }
  const directory = await directoryWith((question) => [done(question)], { ...more, ...roles })
  expect(await directory.authenticate('ada', 'a password')).toMatchObject({ groups: [group] })
})

test('a name in the directory that looks like a part of the filter is a name', async () => {
  const [NAMED, asked]: [string, string[]] = ['cn={username},dc=example,dc=org', []]
  const { url } = await startLyingDirectory((question) => {
    if (question.operation === 'bind') return [done(question)]
    if (question.dn !== GROUPS)
      return [entry(question, NAMED, { uid: 'eve', entryUUID: 'e' }), done(question)]
    asked.push(question.text)
    return [done(question)]
  })
  const settings = {
    LDAP_URL: url,
    LDAP_START_TLS: 'false',
    LDAP_BASE_DN: 'dc=example,dc=org',
    LDAP_ROLES: `staff=cn=staff,${GROUPS}`,
    LDAP_GROUP_BASE_DN: GROUPS,
    LDAP_GROUP_FILTER: '(&(member={dn})(memberUid={username}))',
  }
  const directory = createDirectory(ldapConfig(parseConfig(settings, []))!, pino({ level: 'silent' }))
  expect(await directory.authenticate('eve', 'a password')).toMatchObject({ groups: [] })
  expect(asked.join('')).toContain(NAMED)
  expect(asked.join('')).toMatch(/memberUid\W+eve/)
})

test('what fails meanwhile here, such as the database, is no failure of the directory', async () => {
  const directory = await directoryWith((question) => [done(question)])
  const away = new Error('the database is away')
  const asked = directory.authenticate('ada', 'a password', async () => {
    throw away
  })
  await expect(asked).rejects.toBe(away)
})
