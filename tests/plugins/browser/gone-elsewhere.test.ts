/** A sign-in of who is asked about where their password is kept: nothing of it is left where it is refused, and all of it where something changed there. */
import { beforeEach, expect, test } from 'vitest'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { codeOf, recoveryCodesOn, secretOn } from '../../support/authenticator.ts'
import { isThere } from '../../support/left-out.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, BOB, SEED } from '../../support/sign-in.ts'
import { createUserAgent, type Page, type UserAgent } from '../../support/user-agent.ts'

/** What the place says, of whoever is asked about. */
let look: () => Promise<boolean>
const server = await startServer(
  { OIDC_SECOND_FACTOR_ROLES: 'accountant' },
  {
    seed: { ...SEED, users: [ALICE, { ...BOB, roles: ['accountant'] }] },
    extend: ({ oauth }) =>
      oauth.register('passwordSource', 'elsewhere', {
        check: async () => null,
        keeps: async () => null,
        isThere: async () => look(),
      }),
  },
)
const { oauth } = server.server
const idOf = async ({ username }: typeof BOB): Promise<string> => (await oauth.users.find(username))!.id

async function signIn(who: typeof BOB, agent: UserAgent = createUserAgent(server.url)): Promise<Page> {
  const { username, password } = who
  return agent.submit(await agent.get(`${server.url}/sign-in`), 'login', { username, password })
}

beforeEach(() => {
  look = async () => true
})

test.each([
  ['are gone from there', async () => false],
  [
    'cannot be asked about',
    async () => {
      throw new OAuthError('temporarily_unavailable', 'too many ask at once', { status: 503 })
    },
  ],
])('nothing is left of a sign-in of who %s', async (_what, says) => {
  look = says
  const agent = createUserAgent(server.url)
  await signIn(ALICE, agent)
  const id = await idOf(ALICE)
  expect(await oauth.sessions.list(id)).toEqual([])
  expect([...agent.cookies.keys()].filter((name) => /session|pending|known/.test(name))).toEqual([])
  const { events } = await oauth.audit.list({ user: id, type: 'user.signed_in' })
  expect(events).toEqual([])
})

/** Once, as it is taken over from there. */
const changing = (id: string, name: string) => async () => {
  look = async () => true
  await oauth.users.update({ id }, { name })
  return true
}

test('who has changed there is signed in as they are now', async () => {
  const id = await idOf(ALICE)
  look = changing(id, 'Alice Elsewhere')
  await signIn(ALICE)
  expect(await oauth.sessions.list(id)).toHaveLength(1)
})

test.each([
  ['ended', async (id: string) => oauth.users.revokeTokens({ id })],
  ['ended by a new password', async () => oauth.users.setPassword(ALICE.username, ALICE.password)],
])('what they have is %s while it is asked: nobody is signed in', async (_how, end) => {
  const id = await idOf(ALICE)
  look = async () => {
    look = async () => true
    await end(id)
    return true
  }
  await signIn(ALICE)
  expect(await oauth.sessions.list(id)).toEqual([])
})

test.runIf(isThere('latchkey-second-factor'))('a sign-in that lacks a factor waits for it, whatever has changed there', async () => {
  look = changing(await idOf(BOB), 'Bob Elsewhere')
  const agent = createUserAgent(server.url)
  const page = await signIn(BOB, agent)
  const codes = await agent.submit(page, 'totp', { code: codeOf(secretOn(page)) })
  expect(recoveryCodesOn(codes)).toHaveLength(10)
}) // prettier-ignore
