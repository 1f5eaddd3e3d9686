/** What a user is told of their account: what happened to it, by whom, and nothing of others. */
import { expect, test } from 'vitest'
import { runAs } from '../../../src/services/audit/origin.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, BOB, getTokens, SEED } from '../../support/sign-in.ts'
import type { Page } from '../../support/user-agent.ts'
import { open, signedIn } from './owner.ts'

const ROOT = { username: 'root', password: 'a password of an administrator', roles: ['admin'] }
const server = await startServer({}, { seed: { ...SEED, users: [...SEED.users, ROOT] } })
const { users, sessions, consents } = kernelOf(server.server)
const { id } = (await users.find('alice'))!

/** The lines of the table. */
function linesOf({ body }: Page): string[] {
  return [...body.matchAll(/<th scope="row">([\s\S]*?)<\/td>/g)].map(([, line]) =>
    line!
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  )
}

test('is in plain words, the latest first', async () => {
  const agent = await signedIn(server)
  await getTokens(server, { scope: 'openid read_books' }, agent)
  await consents.withdraw(id, 'web')
  await users.update('alice', { nickname: 'Al', phone_number: null })
  await sessions.endAll(id, { except: 'x' })
  const lines = linesOf(await open(server, await signedIn(server), '/activity'))
  expect(lines).toEqual([
    'You signed in 127.0.0.1',
    'Every other browser was signed out by this service',
    'Your profile was changed: nickname and phone number by this service',
    'The access of an app was taken back: web by this service',
    'You allowed an app access: web 127.0.0.1',
    'You signed in 127.0.0.1',
    'The account was made by this service',
  ])
})

test('tells of wrong passwords, and of nothing that happened to others', async () => {
  await expect(signedIn(server, { username: 'alice', password: 'x' })).rejects.toThrow('403')
  await signedIn(server, BOB)
  const agent = await signedIn(server)
  // Such is stored within a second.
  await expect
    .poll(async () => linesOf(await open(server, agent, '/activity')))
    .toContain('A wrong password was tried 127.0.0.1')
  const bobs = linesOf(await open(server, await signedIn(server, BOB), '/activity'))
  expect(bobs.filter((line) => line.includes('wrong'))).toEqual([])
})

test('goes on by pages, and no further back than 90 days', async () => {
  const agent = await signedIn(server)
  for (let n = 0; n < 60; n++) await users.update('alice', { nickname: `n${n}` })
  const first = await open(server, agent, '/activity')
  const next = /rel="next" href="([^"]*)"/.exec(first.body)![1]!
  const second = await agent.get(`${server.url}${next}`)
  expect(linesOf(first)).toHaveLength(50)
  expect(linesOf(second).length).toBeGreaterThan(10)
  expect(second.body).not.toContain('rel="next"')
  const beyond = await agent.get(`${server.url}/account/activity?before=nonsense`)
  expect(beyond.status).toBeLessThan(500)
})

test('says who did what an administrator did', async () => {
  const root = (await users.find('root'))!
  await runAs({ kind: 'user', id: root.id }, async () => users.update('alice', { nickname: 'by root' }))
  const [, line] = linesOf(await open(server, await signedIn(server, ALICE), '/activity'))
  expect(line).toBe('Your profile was changed: nickname by an administrator')
  // What root did to others is not what happened to root.
  const roots = linesOf(await open(server, await signedIn(server, ROOT), '/activity'))
  expect(roots.filter((one) => one.includes('profile'))).toEqual([])
})
