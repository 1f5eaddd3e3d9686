/** An app that has registered itself, as people meet it: where they allow it, and where they administer. */
import { expect, test } from 'vitest'
import type { SelfRegistration } from '../../src/doors/self-registration.ts'
import { openClient, ROOT, signedIn } from '../plugins/admin/administrator.ts'
import { startServer } from '../support/server.ts'
import { ALICE, authorizationUrl, REDIRECT_URI, SEED } from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page } from '../support/user-agent.ts'

const NOBODY = /has registered itself[^<]*nobody here has checked whose it is/
let apps: SelfRegistration
const server = await startServer({}, {
  seed: { ...SEED, users: [...SEED.users, ROOT] },
  extend({ oauth }) { apps = oauth.selfRegistration('apps', { most: 10 }) },
}) // prettier-ignore
const app = await apps!.create({ client_name: 'Photo Prints', redirect_uris: [REDIRECT_URI] })

async function consentPageOf(clientId: string): Promise<Page> {
  const agent = createUserAgent(server.url)
  const page = await agent.get(authorizationUrl(server, { client_id: clientId }))
  const next = await agent.submit(page, 'login', { username: ALICE.username, password: ALICE.password })
  expect(findForm(next, 'consent')).toBeDefined()
  return next
}

test('who is asked for consent is told that nobody has checked it', async () => {
  expect((await consentPageOf(app.client_id)).body).toMatch(NOBODY)
  expect((await consentPageOf('web')).body).not.toMatch(NOBODY)
})

test('an administrator sees it', async () => {
  const agent = await signedIn(server)
  expect((await openClient(server, agent, app.client_id)).body).toMatch(NOBODY)
  expect((await openClient(server, agent, 'web')).body).not.toMatch(NOBODY)
})
