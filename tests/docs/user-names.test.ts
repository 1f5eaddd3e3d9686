/** docs/user-names.md, as it stands there. */
import { expect, test } from 'vitest'
import { startServer } from '../support/server.ts'
import { ALICE, SEED } from '../support/sign-in.ts'
import { openPage, sitDown } from './page.ts'

const page = await openPage('user-names.md')
const command = page.next('sh')

test('the page has no other commands', () => page.end())

test('somebody is called otherwise by the command of the page', async () => {
  const server = await startServer({}, { seed: SEED })
  const { users } = server.server.oauth
  const { id } = (await users.find(ALICE.username))!
  const { stdout } = await (await sitDown(server.settings)).sh(command)
  expect(stdout).toContain('username: alicia')
  expect((await users.authenticate('alicia', ALICE.password))?.id).toBe(id)
})
