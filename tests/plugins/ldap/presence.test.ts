/** Nobody is taken for gone by what does not say so: another entry, a search that finds nobody at all, another attribute, too many who ask. @needs latchkey-ldap */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DirectoryFailure } from '../../../plugins/ldap/connection.ts'
import type { Directory } from '../../../plugins/ldap/directory.ts'
import { createPresence } from '../../../plugins/ldap/presence.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { actAs } from '../../../src/services/audit/origin.ts'
import { shed } from '../../../src/services/shedding.ts'
import { ldapConfig } from '../../../src/settings/ldap.ts'
import { done, entry, type Question, startLyingDirectory } from '../../support/lying-directory.ts'
import { startBeside, startServer, type TestServer } from '../../support/server.ts'

const BASE = 'dc=example,dc=org'
const entryOf = (question: Question, uid: string) =>
  entry(question, `uid=${uid},${BASE}`, { uid, cn: uid, entryUUID: `id-of-${uid}` })

/** What a search finds. */
let find: (question: Question) => readonly Buffer[]
/** These are there. Who is asked for by name or by id is found, and somebody where anybody is asked for. */
const honestly =
  (...there: string[]) =>
  (question: Question): readonly Buffer[] => {
    const named = there.filter((uid) => question.text.includes(uid))
    const isForAnybody = !/ada|bea|cleo/.test(question.text)
    return (isForAnybody ? ['bea'] : named).map((uid) => entryOf(question, uid))
  }
const withoutCleo = honestly('ada', 'bea')

let server: TestServer
let ada: string
let cleo: string

beforeAll(async () => {
  const { url } = await startLyingDirectory((question) =>
    question.operation === 'search' ? [...find(question), done(question)] : [done(question)],
  )
  server = await startServer({ LDAP_URL: url, LDAP_START_TLS: 'false', LDAP_BASE_DN: BASE })
  const admitted = async (uid: string): Promise<string> => {
    find = (question) => [entryOf(question, uid)]
    const { directory, people } = server.server.ldap
    const account = await people.admit((await directory.find(uid))!)
    return 'user' in account ? account.user.id : ''
  }
  ada = await admitted('ada')
  cleo = await admitted('cleo')
})

/** Whether somebody is there, and may sign in; asked by a process that has not asked yet. */
async function look(userId: string, settings: Record<string, string> = {}) {
  const { ldap, oauth } = (await startBeside(server, settings)).server
  return [await ldap.presence.isThere(userId), (await oauth.users.get(userId)).disabled]
}

test('who is found is there, and who is not is gone where others are found', async () => {
  find = withoutCleo
  expect(await look(ada)).toEqual([true, false])
  expect(await look(cleo)).toEqual([false, true])
})

test('what is found out by the way is the server’s doing, whoever’s request it was', async () => {
  const { oauth, ldap } = (await startBeside(server)).server
  await oauth.users.enable({ id: cleo })
  find = withoutCleo
  await actAs({ kind: 'user', id: ada }, async () => ldap.presence.isThere(cleo))
  const [event] = (await oauth.audit.list({ user: cleo, type: 'user.disabled' })).events
  expect(event).toMatchObject({ actor: { kind: 'server', id: null } })
})

describe('who comes back', () => {
  const registry = () => kernelOf(server.server).users
  const byHand = () => server.server.oauth.users
  const whom = () => ({ id: cleo })
  const isDisabled = async () => (await byHand().get(cleo)).disabled

  async function leave(): Promise<void> {
    find = withoutCleo
    await look(cleo)
  }
  async function comeBack() {
    find = honestly('ada', 'bea', 'cleo')
    const { directory, people } = server.server.ldap
    return people.admit((await directory.find('cleo'))!)
  }
  beforeEach(async () => void (await byHand().enable(whom())))
  afterAll(async () => void (await byHand().enable(whom())))

  test('is enabled where the directory alone disabled them', async () => {
    await leave()
    expect(await isDisabled()).toBe(true)
    expect(await comeBack()).toMatchObject({ user: { id: cleo, disabled: false } })
    expect(await isDisabled()).toBe(false)
    expect((await server.server.ldap.links.list(cleo))[0]!.value).not.toHaveProperty('gone')
  })

  test.each([
    ['before', async () => (await byHand().disable(whom()), leave())],
    ['after', async () => (await leave(), byHand().disable(whom()))],
    [
      'by what was laid over them',
      async () => (await leave(), registry().update(whom(), {}, { disabled: true })),
    ],
    [
      'once they were enabled',
      async () => (await leave(), await byHand().enable(whom()), byHand().disable(whom())),
    ],
    [
      'when they were no last administrator any more',
      async () => {
        await byHand().update('cleo', { roles: ['admin'] })
        await leave()
        expect(await isDisabled()).toBe(false)
        await byHand().update('cleo', { roles: [] })
        await byHand().disable(whom())
      },
    ],
  ])('stays disabled where somebody did it by hand %s', async (_when, happens) => {
    await happens()
    expect(await comeBack()).toEqual({ refused: 'disabled' })
    await server.server.ldap.presence.sync()
    expect(await isDisabled()).toBe(true)
  })
})

test.each([
  ['nobody at all', () => []],
  ['somebody else', (question: Question) => [entryOf(question, 'bea')]],
  ['two of one id', (question: Question) => [entryOf(question, 'cleo'), entryOf(question, 'cleo')]],
] as const)('where %s is found, nobody is gone', async (_what, finds) => {
  find = finds
  expect(await look(cleo)).toEqual([true, false])
  await expect(server.server.ldap.presence.sync({ force: true })).rejects.toThrow(DirectoryFailure)
  expect((await server.server.oauth.users.get(cleo)).disabled).toBe(false)
})

test('who is linked by another attribute is not asked about', async () => {
  find = withoutCleo
  expect(await look(cleo, { LDAP_ID_ATTRIBUTE: 'objectGUID' })).toEqual([true, false])
  const { ldap } = (await startBeside(server, { LDAP_ID_ATTRIBUTE: 'objectGUID' })).server
  expect(await ldap.presence.sync({ force: true })).toMatchObject({ seen: 0, gone: [] })
})

test('what is too long to be kept is left out, and keeps neither them from getting in nor others from leaving', async () => {
  const { directory, people, presence } = server.server.ldap
  const long = 'n'.repeat(257)
  find = (question) => {
    const isAda = question.text.includes('ada')
    const more = { displayName: long, givenName: 'Ada', sn: long, mail: `a@${'e'.repeat(300)}.org` }
    const dn = `uid=ada,${BASE}`
    return isAda
      ? [entry(question, dn, { uid: 'ada', cn: 'ada', entryUUID: 'id-of-ada', ...more })]
      : withoutCleo(question)
  }
  await server.server.oauth.users.enable({ id: cleo })
  expect(await presence.sync()).toMatchObject({ gone: ['cleo'], failed: [] })
  const account = await people.admit((await directory.find('ada'))!)
  expect(account).toMatchObject({ user: { id: ada, claims: { given_name: 'Ada' } } })
  expect(server.output()).toMatch(
    /"claims":\["name","family_name","email"\].*not taken over from the directory/,
  )
})

test('whoever is called by a name with some spaces gets in by it', async () => {
  const { directory, people } = server.server.ldap
  const uid = 'dora\u00a0  of ops'
  find = (question) => [entry(question, `uid=dora,${BASE}`, { uid, cn: uid, entryUUID: 'id-of-dora' })]
  const account = await people.admit((await directory.find(uid))!)
  expect(account).toMatchObject({ user: { username: uid } })
  await server.server.oauth.users.delete(uid)
})

test('who cannot be brought up to date keeps nobody else here, and is told of', async () => {
  const { server: fastify } = server
  find = withoutCleo
  await fastify.oauth.users.enable({ id: cleo })
  const presence = createPresence(fastify, {
    ...fastify.ldap,
    config: ldapConfig(kernelOf(fastify).config)!,
    people: {
      ...fastify.ldap.people,
      update: async () => {
        throw new Error('for a reason of its own')
      },
    },
  })
  expect(await presence.sync()).toMatchObject({ gone: ['cleo'], failed: ['ada'] })
  expect((await fastify.oauth.users.get(cleo)).disabled).toBe(true)
  expect(server.output()).toContain('for a reason of its own')
})

test('where most who are looked for are gone, no more than ten are disabled: they get nothing, and the log says what to do', async () => {
  const { server: fastify, output } = await startBeside(server)
  const { links } = fastify.ldap
  const { users } = fastify.oauth
  // It remembers nobody.
  const config = { ...ldapConfig(kernelOf(fastify).config)!, recheck: -1 }
  const presence = createPresence(fastify, { ...fastify.ldap, config })
  find = honestly('ada', 'bea')
  const ids: string[] = []
  for (let at = 0; at < 13; at++) {
    const { id } = await users.create({ username: `elsewhere-${at}` })
    await links.put(id, id, { directory: 'default', attribute: 'entryUUID', subject: `cleo-${at}`, dn: '' })
    ids.push(id)
  }
  const gone = async () =>
    (await Promise.all(ids.map(async (id) => users.get(id)))).filter((one) => one.disabled)
  for (const id of ids) expect(await presence.isThere(id)).toBe(false)
  expect(await gone()).toHaveLength(10)
  expect(output()).toMatch(/"level":"error".*most of those who are looked for are gone.*latchkey ldap sync/)
  // Once many others are found, they are not most any more.
  for (let at = 0; at < 20; at++) expect(await presence.isThere(ada)).toBe(true)
  for (const id of ids) expect(await presence.isThere(id)).toBe(false)
  expect(await gone()).toHaveLength(13)
})

test('that too many ask says nothing of who is there: it is said to who asks', async () => {
  const { server: fastify } = server
  const full = async () => {
    throw shed('passwords')
  }
  const presence = createPresence(fastify, {
    ...fastify.ldap,
    config: ldapConfig(kernelOf(fastify).config)!,
    directory: { ...fastify.ldap.directory, get: full } satisfies Directory,
  })
  await expect(presence.isThere(ada)).rejects.toMatchObject({ code: 'temporarily_unavailable', status: 503 })
})
