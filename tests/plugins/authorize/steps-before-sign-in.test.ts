/** Steps of a plugin that come before anybody is signed in: what they note travels with the browser, and is stored nowhere. */
import { expect, test } from 'vitest'
import type { FastifyInstance } from 'fastify'
import { startServer } from '../../support/server.ts'
import { ALICE, answerOf, authorizationUrl, SEED } from '../../support/sign-in.ts'
import { createUserAgent, findForm } from '../../support/user-agent.ts'

/** Sign-in in two: who it is, then a PIN. */
async function addSteps(server: FastifyInstance): Promise<void> {
  const { oauth, browser } = server
  const pages = server.pages as unknown as { add(name: string, file: URL, options: object): Promise<void> }
  await pages.add('pin', new URL('pin.eta', import.meta.url), { kind: 'interaction' })
  const page = { page: 'pin', model: { wrong: false } }
  oauth.add('interactionStep', {
    name: 'who',
    required: 'login_required',
    run: async ({ session, notes }) => (session !== null || notes['who'] !== undefined ? 'done' : page),
    submit: async (_interaction, { pin }) => ({ note: { name: pin } }),
  })
  oauth.add('interactionStep', {
    name: 'sign-in',
    required: 'login_required',
    run: async ({ session }) => (session === null ? page : 'done'),
    async submit({ notes }, { pin }, call) {
      const user = await oauth.users.authenticate((notes['who'] as { name: string }).name, String(pin))
      const session = user === null ? null : await browser.signIn(call, { user, amr: ['pin'], acr: '1' })
      return session === null ? { ...page, status: 403 } : { note: {}, session }
    },
  })
}

const server = await startServer(
  {},
  { seed: SEED, build: { without: ['latchkey-login', 'latchkey-consent'] }, extend: addSteps },
)
const rows = async (): Promise<unknown[]> => server.database.query('select kind from artifacts')

test('its note is there for the step after it, also after a reload, and nothing is stored before the sign-in', async () => {
  const agent = createUserAgent(server.url)
  const who = await agent.get(authorizationUrl(server))
  const next = await agent.submit(who, 'pin', { pin: ALICE.username })
  expect(next.url).not.toBe(who.url)
  const signIn = await agent.get(next.url)
  expect(findForm(signIn, 'pin')!.action).toContain('/sign-in?')
  expect(findForm(await agent.get(who.url), 'pin')!.action).toContain('/who?')
  expect(await rows()).toEqual([])
  const wrong = await agent.submit(signIn, 'pin', { pin: 'wrong' })
  expect([wrong.status, await rows()]).toEqual([403, []])
  expect(answerOf(await agent.submit(wrong, 'pin', { pin: ALICE.password })).has('code')).toBe(true)
  expect(await rows()).toHaveLength(1)
})

test('neither address of one that has ended leads to a second answer', async () => {
  const agent = createUserAgent(server.url)
  const who = await agent.get(authorizationUrl(server))
  const signIn = await agent.submit(who, 'pin', { pin: ALICE.username })
  expect(answerOf(await agent.submit(signIn, 'pin', { pin: ALICE.password })).has('code')).toBe(true)
  for (const page of [who, signIn]) expect((await agent.get(page.url)).status).toBe(400)
})
