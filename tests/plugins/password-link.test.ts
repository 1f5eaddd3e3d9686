/** The page of a one-time link for a password. The links themselves are tested with their service. */
import { expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { startServer } from '../support/server.ts'
import { createUserAgent, findForm, type Page } from '../support/user-agent.ts'

const server = await startServer({}, { seed: {} })
const { users, passwordLinks } = kernelOf(server.server)
const PASSWORD = 'a password of some length'
let count = 0

async function openLink(username = `user-${++count}`) {
  const { id } = await users.create({ username })
  const { address } = await passwordLinks.make(id)
  const agent = createUserAgent(server.url)
  return { id, username, address, agent, page: await agent.get(address) }
}

const textOf = ({ body }: Page, id: string) => new RegExp(`\\sid="${id}"[^>]*>([^<]*)<`).exec(body)?.[1]

test('opening it spends nothing, however often and by whatever program', async () => {
  const { address, agent, page, username } = await openLink()
  for (let time = 0; time < 3; time++) expect((await agent.get(address)).status).toBe(200)
  expect((await server.request(address, { method: 'HEAD' })).status).toBe(200)
  await agent.submit(page, 'set-password', { password: PASSWORD })
  expect(await users.hasPassword(username, PASSWORD)).toBe(true)
})

test('a password that cannot be one is refused at its field, and the link goes on', async () => {
  const { agent, page, username } = await openLink()
  for (const [password, reason] of [
    ['', 'Must not be empty.'],
    ['short', 'Must have 8 characters at least.'],
    ['x'.repeat(1025), 'Must have 1024 characters at most.'],
  ] as const) {
    const refused = await agent.submit(page, 'set-password', { password })
    expect([refused.status, textOf(refused, 'password-error')]).toEqual([400, reason])
    expect(findForm(refused, 'set-password')!.fields['password']).toBe('')
  }
  expect((await agent.submit(page, 'set-password', { password: PASSWORD })).status).toBe(200)
  expect(await users.hasPassword(username, PASSWORD)).toBe(true)
})

test('what is no link, or no longer one, is said so, whatever it is', async () => {
  const { address } = await openLink()
  await server.database.query('update users set password_link_ends_at = now()')
  for (const url of [address, `${server.url}/set-password`, `${server.url}/set-password?token=x`, `${address}A`]) {
    const page = await createUserAgent(server.url).get(url)
    expect([page.status, page.body]).toEqual([410, expect.stringContaining('no longer good')])
  }
}) // prettier-ignore

test('it signs nobody in, and leaves who is signed in as they are', async () => {
  const root = { username: 'root', password: PASSWORD, roles: ['admin'] }
  await users.create(root)
  const agent = createUserAgent(server.url)
  await agent.submit(await agent.get(`${server.url}/sign-in`), 'login', {
    username: 'root',
    password: PASSWORD,
  })
  const { address } = await openLink()
  const cookies = new Map(agent.cookies)
  await agent.submit(await agent.get(address), 'set-password', { password: PASSWORD })
  expect(agent.cookies).toEqual(cookies)
  expect((await agent.get(`${server.url}/admin/users`)).status).toBe(200)
})

test('any name is shown as it is', async () => {
  const { page } = await openLink(`<b>"it's" \u202Ebidi`)
  expect(page.status).toBe(200)
  expect(page.body).not.toContain('<b>')
})

test('guessing is slowed down', async () => {
  const { agent, page } = await openLink()
  await server.database.query('update users set password_link_hash = null')
  const statuses: number[] = []
  for (let tries = 0; tries < 61; tries++)
    statuses.push((await agent.submit(page, 'set-password', { password: PASSWORD })).status)
  expect(statuses[0]).toBe(410)
  expect(statuses.at(-1)).toBe(429)
})
