/**
 * Linked sign-ins of users, as administrators see and unlink them: on the page of the user, and by command; and what their people hear of it.
 * @needs latchkey-upstreams
 */
import { expect, test, vi } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { commandsHere, runCommandHere } from '../../support/command-here.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, BOB, goThrough, SEED } from '../../support/sign-in.ts'
import { answerAt, signInBy, startBelow, startUpstream, traveller } from '../../support/upstreams.ts'
import { createUserAgent, findForm } from '../../support/user-agent.ts'
import { isThere } from '../../support/left-out.ts'
import { age, eventsOf, signedIn } from '../account/owner.ts'

const ROOT = { username: 'root', password: 'the long password of root', roles: ['admin'] }
/** Known to the upstream alone, and by no address. */
const CAROL = { username: 'carol', password: 'the long password of carol' }
const HEARS = { ...BOB, email: 'bob@example.com', email_verified: true }
const { server, upstreams } = await startBelow(
  async (url) => [await startUpstream('corp', url, [ALICE, BOB, CAROL], { sign_up: true })],
  {},
  { seed: { ...SEED, users: [ALICE, HEARS, ROOT] } },
)
const [corp] = upstreams as [(typeof upstreams)[number]]
const { oauth, linkedSignIns } = server.server
const settings = { ...server.settings, LOG_LEVEL: 'error' }
const { run, runJson } = commandsHere(settings, 'user')
const idOf = async (username: string): Promise<string> => (await oauth.users.find(username))!.id
const bob = await idOf('bob')
const address = `${server.url}/admin/user?id=${bob}`

/** Bob links what he has at the upstream. */
async function link(as: { username: string; password: string } = BOB): Promise<void> {
  const who = traveller(server, corp)
  const page = await goThrough(who.here, await who.here.get(`${server.url}/account/linked-sign-ins`), BOB)
  const left = await who.here.submit(page, 'link', { upstream: 'corp' })
  expect((await who.here.get(await answerAt(who, left, as))).body).toContain('It is linked')
}

test('the page of a user lists them, unlinks one, and keeps the last way in', async () => {
  const admin = await signedIn(server, ROOT)
  expect((await admin.get(address)).body).toContain('Nothing is linked with the account of this user.')
  await link()
  const page = await admin.get(address)
  const [linked] = await linkedSignIns.list(bob)
  for (const shown of ['<bdi>CORP</bdi>', corp.issuer, linked!.value.subject]) expect(page.body).toContain(shown)
  const unlinked = await admin.submit(page, 'unlink-0')
  expect([unlinked.url, unlinked.body]).toEqual([`${address}&link=deleted#linked-sign-ins`, expect.stringContaining('It is unlinked')])
  expect(await linkedSignIns.list(bob)).toEqual([])
  const [event] = await eventsOf(server, 'user.upstream_unlinked')
  expect(event).toMatchObject({ user: bob, actor: { kind: 'user', id: await idOf('root') }, details: { upstream: 'corp' } })
  // Sent twice it is as it was wanted.
  expect((await admin.submit(page, 'unlink-0')).body).toContain('It is unlinked')
  expect(await eventsOf(server, 'user.upstream_unlinked')).toHaveLength(1)

  await link()
  const other = await admin.get(address)
  await server.database.query(`update users set password_hash = null where id = '${bob}'`)
  expect((await admin.submit(other, 'unlink-0')).body).toContain('the only way by which the user can sign in')
  expect(await linkedSignIns.list(bob)).toHaveLength(1)
  await oauth.users.setPassword('bob', BOB.password)
}) // prettier-ignore

test('an end of a link whose answer is lost stays one: no address links it again', async () => {
  const [linked] = await linkedSignIns.list(bob)
  const { audit } = kernelOf(server.server)
  const { transaction } = audit
  const spy = vi.spyOn(audit, 'transaction').mockImplementation(async (work) => {
    const done = await transaction(work)
    if ((await linkedSignIns.list(bob)).length === 0) throw new Error('the connection was lost')
    return done
  })
  await expect(linkedSignIns.unlink(bob, linked!.id)).rejects.toThrow('the connection was lost')
  spy.mockRestore()
  expect(await linkedSignIns.list(bob)).toEqual([])
  const marks = await server.database.query(
    `select record_id from user_records where user_id = '${bob}' and kind = 'upstream-unlinked'`,
  )
  expect(marks).toEqual([{ record_id: linked!.id }])
  await link()
})

test('nobody else unlinks one, nor by the form of another, and not ten minutes after a sign-in', async () => {
  const admin = await signedIn(server, ROOT)
  const { action, fields } = findForm(await admin.get(address), 'unlink-0')!
  expect((await (await signedIn(server, BOB)).post(action, fields)).status).toBe(403)
  expect((await createUserAgent(server.url).post(action, fields)).status).toBe(403)
  expect((await admin.post(action, { ...fields, link: 'another' })).status).toBe(403)
  expect((await admin.post(action, { ...fields, id: await idOf('alice') })).status).toBe(403)
  await age(server, 700)
  expect((await admin.post(action, fields)).url).toContain('/sign-in?')
  expect(await linkedSignIns.list(bob)).toHaveLength(1)
})

test('commands list them and unlink one, and say what there is none of', async () => {
  const [one] = await linkedSignIns.list(bob)
  const { upstream, issuer, subject, name } = one!.value
  const created = new Date(one!.createdAt).toISOString()
  expect(await runJson('linked-sign-ins', 'Bob')).toEqual([{ id: one!.id, upstream, issuer, subject, name, created }])
  expect(await run('linked-sign-ins', 'bob')).toContain(`${one!.id}  corp  ${corp.issuer}  "${subject}"`)
  expect(await runJson('unlink', 'bob', one!.id)).toEqual({ id: one!.id, unlinked: true })
  expect(await linkedSignIns.list(bob)).toEqual([])
  const [event] = await eventsOf(server, 'user.upstream_unlinked')
  expect(event).toMatchObject({ user: bob, actor: { kind: 'command' }, details: { upstream: 'corp' } })
  const refused = async (args: string[], more: object = {}): Promise<unknown> =>
    runCommandHere(['user', ...args], { ...settings, ...more })
  const failure = (stderr: string) => ({ status: 1, stdout: '', stderr: `${stderr}\n` })
  for (const id of [one!.id, '-h4J0', '--json-like'])
    expect(await refused(['unlink', 'bob', id])).toEqual(failure('linked sign-in is not there.'))
  expect(await refused(['linked-sign-ins', 'nobody'])).toEqual(
    failure('username is not registered: `latchkey user list` says what is.'),
  )
  expect(await refused(['linked-sign-ins', 'bob'], { WITHOUT: 'latchkey-upstreams' })).toEqual(
    failure('There are no linked sign-ins here: latchkey-upstreams is left out.'),
  )
}) // prettier-ignore

test('what the upstream says of somebody moves no cursor on a terminal', async () => {
  const value = { upstream: 'corp', issuer: corp.issuer, subject: 'a\u001B[2Jb', name: 'n\u202En' }
  await server.database.query(`insert into user_records (user_id, kind, record_id, value) values ('${bob}', 'upstream-link', 'told', '${JSON.stringify(value)}')`)
  expect(await run('linked-sign-ins', 'bob')).toMatch(/^[\u0020-\u007E]+\n$/)
  expect(await runJson('unlink', 'bob', 'told')).toEqual({ id: 'told', unlinked: true })
}) // prettier-ignore

test('without an upstream, and without anything that is linked, the page of a user has no such part', async () => {
  const none = await startServer({}, { seed: { ...SEED, users: [BOB, ROOT] } })
  const admin = await signedIn(none, ROOT)
  const { id } = (await none.server.oauth.users.find('bob'))!
  const page = await admin.get(`${none.url}/admin/user?id=${id}`)
  expect([page.status, page.body.includes('linked-sign-ins')]).toEqual([200, false])
})

test.runIf(isThere('latchkey-notices'))('people are told by mail, but of the link that made the account', async () => {
  const told = async (): Promise<string[]> => {
    await expect.poll(async () => (await server.database.query('select from outbox')).length).toBe(0)
    return oauth.mail.kept().filter(({ to }) => to === HEARS.email).map(({ subject }) => subject)
  }
  const before = (await told()).length
  await link()
  const [one] = await linkedSignIns.list(bob)
  expect((await told()).slice(before)).toEqual(['A sign-in was linked'])
  expect(oauth.mail.kept().find(({ subject }) => subject === 'A sign-in was linked')!.text).toContain('take it away on the page Security')
  await linkedSignIns.unlink(bob, one!.id)
  expect((await told()).slice(before).toSorted()).toEqual(['A sign-in was linked', 'A sign-in was unlinked'])

  const had = oauth.mail.kept().length
  await signInBy(server, corp, CAROL)
  const made = await eventsOf(server, 'user.upstream_linked')
  expect(made[0]!.details).toEqual({ upstream: 'corp', issuer: corp.issuer, registered: true })
  await told()
  expect(oauth.mail.kept()).toHaveLength(had)
}) // prettier-ignore
