/** The page of a user in the administration says who they are in the directory. @needs latchkey-ldap latchkey-admin */
import { expect, test } from 'vitest'
import type { User } from '../../../src/doors/user.ts'
import { done, entry, startLyingDirectory } from '../../support/lying-directory.ts'
import { startServer } from '../../support/server.ts'
import { findForm } from '../../support/user-agent.ts'
import { ROOT, signedIn } from '../admin/administrator.ts'

const BASE = 'dc=example,dc=org'
let there = ['ada', 'bea']
const { url } = await startLyingDirectory((question) => {
  if (question.operation !== 'search') return [done(question)]
  const asked = ['ada', 'bea'].find((uid) => question.text.includes(uid)) ?? there[0]!
  const found = there.includes(asked)
    ? [entry(question, `uid=${asked},ou=A&B,${BASE}`, { uid: asked, cn: asked, entryUUID: `id-of-${asked}` })]
    : []
  return [...found, done(question)]
})
const server = await startServer(
  {
    LDAP_URL: url,
    LDAP_START_TLS: 'false',
    LDAP_BASE_DN: BASE,
    LDAP_ROLES: `staff=cn=staff,${BASE};editor=cn=editors,${BASE};staff=cn=all,${BASE}`,
  },
  { seed: { users: [ROOT] } },
)
const { ldap, oauth } = server.server
const agent = await signedIn(server)
/** What the page says of the directory, in one line; undefined for nothing. */
async function toldOf(username: string): Promise<string | undefined> {
  const { id } = (await oauth.users.find(username))!
  const { body } = await agent.get(`${server.url}/admin/user?id=${id}`)
  return /<section class="part" aria-labelledby="ldap">(.*?)<\/section>/s
    .exec(body)?.[1]
    ?.replaceAll(/<[^>]*>/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

test('by its name there, since when, and what of them comes from there', async () => {
  await ldap.people.admit((await ldap.directory.find('ada'))!)
  const told = await toldOf('ada')
  expect(told).toMatch(/uid=ada,ou=A&amp;B,dc=example,dc=org, since .*UTC\./)
  expect(told).toContain('The user name, the name and the email address come from there')
  expect(told).toContain('So do these roles: staff, editor.')
  expect(told).not.toContain('gone')
  there = ['bea']
  await ldap.presence.sync()
  expect(await toldOf('ada')).toContain('It is gone from there, which has disabled the user here.')
  await oauth.users.enable('ada')
  expect(await toldOf('ada')).not.toContain('gone')
})

test('whom it has disabled an administrator disables for good, whatever it says later', async () => {
  there = ['ada', 'bea']
  const { user } = (await ldap.people.admit((await ldap.directory.find('bea'))!)) as { user: User }
  const address = `${server.url}/admin/user?id=${user.id}`
  expect(findForm(await agent.get(address), 'keep-disabled')).toBeUndefined()
  there = ['ada']
  await ldap.presence.sync()
  expect((await oauth.users.get(user.id)).disabled).toBe(true)
  expect(await toldOf('bea')).toContain(
    'which has disabled the user here. When it is back, the user is enabled.',
  )
  const told = await agent.submit(await agent.get(address), 'keep-disabled')
  expect(told.body).toContain('The user is disabled')
  expect([await toldOf('bea'), findForm(told, 'keep-disabled')]).toEqual([
    expect.not.stringContaining('gone'),
    undefined,
  ])
  there = ['ada', 'bea']
  await ldap.presence.sync()
  expect((await oauth.users.get(user.id)).disabled).toBe(true)
})

test('of who is none of its people nothing is said', async () => {
  expect(await toldOf(ROOT.username)).toBeUndefined()
})
