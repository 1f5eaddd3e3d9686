/** Nobody is taken for gone by what does not say so: another entry, a search that finds nobody at all, another attribute, too many who ask. @needs latchkey-ldap */
import { beforeAll, expect, test } from 'vitest'
import { DirectoryFailure } from '../../../plugins/ldap/connection.ts'
import type { Directory } from '../../../plugins/ldap/directory.ts'
import { createPresence } from '../../../plugins/ldap/presence.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { shed } from '../../../src/services/shedding.ts'
import { ldapConfig } from '../../../src/settings/ldap.ts'
import { done, entry, type Question, startLyingDirectory } from '../../support/lying-directory.ts'
import { startBeside, startServer, type TestServer } from '../../support/server.ts'

const BASE = 'dc=example,dc=org'
const entryOf = (question: Question, uid: string) =>
  entry(question, `uid=${uid},${BASE}`, { uid, cn: uid, entryUUID: `id-of-${uid}` })

/** What a search finds. */
let find: (question: Question) => readonly Buffer[]
/** Who is asked for by name or by id; and a search for anybody finds somebody. */
const honestly = (question: Question): readonly Buffer[] => {
  const named = ['ada', 'bea'].filter((uid) => question.text.includes(uid))
  const isForAnybody = !/ada|bea|cleo/.test(question.text)
  return (isForAnybody ? ['bea'] : named).map((uid) => entryOf(question, uid))
}

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
  find = honestly
  expect(await look(ada)).toEqual([true, false])
  expect(await look(cleo)).toEqual([false, true])
  await server.server.oauth.users.enable({ id: cleo })
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
  find = honestly
  expect(await look(cleo, { LDAP_ID_ATTRIBUTE: 'objectGUID' })).toEqual([true, false])
  const { ldap } = (await startBeside(server, { LDAP_ID_ATTRIBUTE: 'objectGUID' })).server
  expect(await ldap.presence.sync({ force: true })).toMatchObject({ seen: 0, gone: [] })
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
