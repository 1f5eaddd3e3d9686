/** People who want to be forgotten, without eyes. */
import { kernelOf } from '../../../src/http/kernel-of.ts'
import type { User } from '../../../src/services/users/user.ts'
import type { TestServer } from '../../support/server.ts'
import type { Page, UserAgent } from '../../support/user-agent.ts'
import { open, signedIn } from '../account/owner.ts'

export const PASSWORD = 'a password of somebody'
let count = 0

/** Somebody new, with a verified address. */
export async function somebody(
  { server }: Pick<TestServer, 'server'>,
  members: Record<string, unknown> = {},
): Promise<User> {
  const username = `person-${++count}`
  const email = `${username}@example.com`
  return server.oauth.users.create({ username, password: PASSWORD, email, email_verified: true, ...members })
}

/** What the password leads to. */
export async function giveName(agent: UserAgent, page: Page, { username }: User): Promise<Page> {
  return agent.submit(page, 'login', { username, password: PASSWORD })
}

export const as = async (server: TestServer, { username }: User): Promise<UserAgent> =>
  signedIn(server, { username, password: PASSWORD })

/** Asks for the deletion by the page. */
export async function askByPage(server: TestServer, agent: UserAgent): Promise<Page> {
  return agent.submit(await open(server, agent, '/data/delete'), 'delete-account')
}

/** As if they had asked so long ago that it is due. */
export async function makeDue({ database, server }: TestServer, { id }: User): Promise<void> {
  await kernelOf(server).accountDeletions.request(id, 1)
  await database.query(`update users set deletion_due_at = now() - interval '1 hour' where id = '${id}'`)
}

/** By the page, which says that it is kept; from there they go on. */
export async function keepAccount(agent: UserAgent, page: Page): Promise<Page> {
  const kept = await agent.submit(page, 'keep-account')
  if (!kept.body.includes('id="kept"'))
    throw new Error(`the account is not kept: ${kept.status} at ${kept.url}`)
  return agent.submit(kept, 'keep-account')
}
