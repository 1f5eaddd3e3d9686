/** What the directory says of somebody, and what of it cannot be taken over. @needs latchkey-ldap */
import { expect, test } from 'vitest'
import type { Person } from '../../../plugins/ldap/directory.ts'
import type { User } from '../../../src/doors/user.ts'
import { actAs } from '../../../src/services/audit/origin.ts'
import { startServer } from '../../support/server.ts'

const { server } = await startServer({
  LDAP_URL: 'ldaps://ldap.example.org',
  LDAP_BASE_DN: 'dc=example,dc=org',
  LDAP_TRUST_EMAIL: true,
})
const { oauth, ldap } = server

function personOf(uid: string, claims: Record<string, string>): Person {
  const dn = `uid=${uid},dc=example,dc=org`
  const none: readonly string[] = []
  return {
    dn,
    subject: uid,
    username: uid,
    claims,
    memberOf: none,
    groups: none,
    isDisabled: false,
    valuesOf: () => none,
  }
}

test('an address that is somebody else’s is not taken over, and the former one is theirs no more', async () => {
  const taken = 'taken@example.org'
  await oauth.users.create({ username: 'owner', email: taken, email_verified: true })
  await ldap.people.admit(personOf('dora', { email: 'dora@example.org', name: 'Dora' }))
  expect(await oauth.users.findByEmail('dora@example.org')).toMatchObject({ username: 'dora' })
  for (const name of ['Dora Maar', 'Dora Markovitch']) {
    await ldap.people.admit(personOf('dora', { email: taken, name }))
    expect((await oauth.users.find('dora'))!.claims).toEqual({ name })
  }
  expect(await oauth.users.findByEmail('dora@example.org')).toBeNull()
  expect(await oauth.users.findByEmail(taken)).toMatchObject({ username: 'owner' })
  await ldap.people.admit(personOf('dora', { email: 'maar@example.org', name: 'Dora' }))
  expect(await oauth.users.findByEmail('maar@example.org')).toMatchObject({ username: 'dora' })
})

test('nor is one that they had unverified, and signing in goes on', async () => {
  const shared = 'shared@example.org'
  const fritz = personOf('fritz', { email: shared, name: 'Fritz' })
  const { user } = (await ldap.people.admit({ ...fritz, claims: { name: 'Fritz' } })) as { user: User }
  await oauth.users.update('fritz', { email: shared, email_verified: false })
  await oauth.users.create({ username: 'sharer', email: shared, email_verified: true })
  expect(await ldap.people.admit(fritz)).toMatchObject({ user: { id: user.id, claims: { name: 'Fritz' } } })
  const before = await oauth.users.get(user.id)
  expect(before.claims).not.toHaveProperty('email')
  // Nor are they changed again each time.
  await ldap.people.admit(fritz)
  expect(await oauth.users.get(user.id)).toEqual(before)
})

test('an address by which somebody else signs in as their user name is verified for nobody', async () => {
  const boss = 'boss@example.org'
  await oauth.users.create({ username: boss })
  await ldap.people.admit(personOf('gina', { email: boss }))
  const whose = async () => (await oauth.users.find('gina'))!.claims
  expect(await whose()).toEqual({ email: boss, email_verified: false })
  await ldap.people.admit(personOf('gina', { email: 'gina@example.org' }))
  expect(await whose()).toEqual({ email: 'gina@example.org', email_verified: true })
  for (let looks = 0; looks < 2; looks++) {
    await ldap.people.admit(personOf('gina', { email: boss }))
    expect(await whose()).toEqual({ email: boss, email_verified: false })
  }
  expect(await oauth.users.findByEmail(boss)).toBeNull()
  // Once it is nobody's name any more.
  await oauth.users.delete(boss)
  await ldap.people.admit(personOf('gina', { email: boss }))
  expect(await whose()).toEqual({ email: boss, email_verified: true })
})

test('what a sign-in takes over is the server’s doing, whoever was signed in with the browser before', async () => {
  const admit = async (name: string) =>
    actAs({ kind: 'user', id: owner.id }, async () => ldap.people.admit(personOf('hedy', { name })))
  const owner = await oauth.users.create({ username: 'signed-in-before' })
  for (const name of ['Hedy', 'Hedy Lamarr']) await admit(name)
  const { events } = await oauth.audit.list({ user: (await oauth.users.find('hedy'))!.id })
  expect(events.map(({ type, actor }) => [type, actor.kind])).toEqual([
    ['user.changed', 'server'],
    ['user.upstream_linked', 'server'],
    ['user.registered', 'server'],
  ])
})
