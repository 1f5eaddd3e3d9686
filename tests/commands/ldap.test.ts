/** The directory on the command line, where it says something else than an honest one. @needs latchkey-ldap */
import { expect, test } from 'vitest'
import { commandsHere, runCommandHere } from '../support/command-here.ts'
import { done, entry, startLyingDirectory } from '../support/lying-directory.ts'
import { startServer } from '../support/server.ts'

const BASE = 'dc=example,dc=org'
/** What the directory calls them, and nobody who is not here. */
const names = new Map([
  ['ada', 'Ada'],
  ['bea', 'Bea'],
  ['cleo', 'Cleo'],
])
const { url } = await startLyingDirectory((question) => {
  const asked = [...names].filter(([uid]) => question.text.includes(uid))
  const isForAnybody = !/ada|bea|cleo/.test(question.text)
  const found = question.operation !== 'search' ? [] : isForAnybody ? [...names].slice(0, 1) : asked
  const entries = found.map(([uid, cn]) =>
    entry(question, `uid=${uid},${BASE}`, { uid, cn, entryUUID: `id-of-${uid}` }),
  )
  return [...entries, done(question)]
})
const server = await startServer({ LDAP_URL: url, LDAP_START_TLS: 'false', LDAP_BASE_DN: BASE })
const { oauth, ldap } = server.server
const settings = { ...server.settings, LOG_LEVEL: 'error' }
const command = commandsHere(settings, 'ldap')

for (const uid of names.keys()) await ldap.people.admit((await ldap.directory.find(uid))!)

test('a sync that cannot bring somebody up to date does all else, and fails', async () => {
  await server.database.query(`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'refused by the database'; end $$`)
  await server.database.query(
    `create trigger refusing before update on users for each row when (new.username = 'ada') execute function refuse()`,
  )
  names.set('ada', 'Ada Lovelace')
  names.set('bea', 'Bea Arthur')
  names.delete('cleo')
  const { status, stdout, stderr } = await runCommandHere(['ldap', 'sync'], settings)
  expect(stdout).toBe(
    [
      '3 accounts are linked with the directory.',
      'cleo is gone from there: disabled.',
      'ada could not be brought up to date: the log says why.',
      '',
    ].join('\n'),
  )
  expect([status, stderr]).toEqual([1, expect.stringContaining('PostgreSQL refused')])
  expect((await oauth.users.find('bea'))!.claims).toEqual({ name: 'Bea Arthur' })
  await server.database.query('drop trigger refusing on users')
  expect(await command.runJson('sync')).toMatchObject({ seen: 3, gone: [], failed: [] })
  expect((await oauth.users.find('ada'))!.claims).toEqual({ name: 'Ada Lovelace' })
})

test('unlink takes the directory from an account, and asks before nothing is left by which they sign in', async () => {
  const bea = (await oauth.users.find('bea'))!
  const refused = async (...words: string[]) => {
    const { status, stdout, stderr } = await runCommandHere(['ldap', 'unlink', ...words], settings)
    expect([status, stdout]).toEqual([1, ''])
    return stderr
  }
  expect(await refused('bea')).toContain('bea has no other way to sign in: add --yes')
  expect(await oauth.users.waysIn(bea.id)).toEqual(['ldap'])
  expect(await command.run('unlink', 'bea', '--yes')).toBe(
    [
      `bea does not sign in as uid=bea,${BASE} any more. What they hold goes on; \`latchkey user revoke-tokens bea\` ends it.`,
      'Nothing is left by which they sign in: `latchkey user set-password bea` gives them a password.',
      '',
    ].join('\n'),
  )
  expect(await oauth.users.waysIn(bea.id)).toEqual([])
  expect(await refused('bea', '--yes')).toContain('bea is not linked with the directory')
  expect(await refused('nobody')).toContain('username is not registered')
  // Who is called so there is somebody else here from then on.
  expect(await ldap.people.admit((await ldap.directory.find('bea'))!)).toEqual({ refused: 'taken' })

  await oauth.users.setPassword('ada', 'a password of ours')
  const dn = `uid=ada,${BASE}`
  expect(await command.runJson('unlink', 'ada')).toEqual({ username: 'ada', dn, ways: ['password'] })
  const { events } = await oauth.audit.list({ type: 'user.upstream_unlinked' })
  expect(events.map(({ user }) => user)).toEqual([(await oauth.users.find('ada'))!.id, bea.id])
})
