/** A session that ends while a form of the account, a passkey or another step of the person is open: the form says so, and does nothing. */
import { expect, test } from 'vitest'
import { signedIn } from '../plugins/account/owner.ts'
import { addPasskey, startAtLocalhost } from '../plugins/passkeys/passkeys.ts'
import { setUpFactor } from '../support/authenticator.ts'
import { authorizationUrl } from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'
import { ACCOUNT, stateOf, type OpenForm } from './forms.ts'
import { rowsWith } from '../support/left-out.ts'

const server = await startAtLocalhost({ OIDC_CIBA: true })
const { users, sessions } = server.server.oauth
const password = 'a password of somebody'
let count = 0

interface Opened extends OpenForm {
  readonly username: string
}

async function somebody(): Promise<{ username: string; agent: UserAgent }> {
  const username = `somebody-${++count}`
  await users.create({ username, password, email: `${username}@example.com`, email_verified: true })
  return { username, agent: await signedIn(server, { username, password }) }
}

function formOn(page: Page, id: string, more: Record<string, string>): Pick<OpenForm, 'action' | 'fields'> {
  const form = findForm(page, id)
  if (form === undefined) throw new Error(`no form ${id}: ${page.status} ${page.body}`)
  return { action: form.action, fields: { ...form.fields, ...more } }
}

const withPasskey =
  (id: string, fields: Record<string, string> = {}) =>
  async (): Promise<Opened> => {
    const { username, agent } = await somebody()
    await addPasskey(server, agent)
    const { page } = await addPasskey(server, agent)
    return { username, agent, ...formOn(page, id, fields) }
  }

const FORMS: Readonly<Record<string, () => Promise<Opened>>> = {
  ...Object.fromEntries(
    Object.entries(ACCOUNT).map(([name, { open }]) => [
      name,
      async () => {
        const form = await open(server)
        const { body } = await form.agent.get(`${server.url}/account`)
        return { ...form, username: /id="signed-in-as"><bdi>([^<]*)/.exec(body)![1]! }
      },
    ]),
  ),
  ...rowsWith('latchkey-passkeys', {
    'new passkey': withPasskey('add-passkey-form', { credential: '{}' }),
    'name of a passkey': withPasskey('rename-passkey-0', { name: 'Another name' }),
    'end of a passkey': withPasskey('delete-passkey-0'),
  }),
  consent: async () => {
    const { username, agent } = await somebody()
    const page = await agent.get(authorizationUrl(server, { scope: 'openid read_books', prompt: 'consent' }))
    return { username, agent, ...formOn(page, 'consent', { decision: 'allow' }) }
  },
  ...rowsWith('latchkey-second-factor', {
    'step-up': async () => {
      const { username, agent } = await somebody()
      const { codes } = await setUpFactor(agent, server.url)
      const other = createUserAgent(server.url)
      const login = await other.get(authorizationUrl(server, { acr_values: '2' }))
      const page = await other.submit(login, 'login', { username, password })
      return { username, agent: other, ...formOn(page, 'second-factor', { code: codes[0]! }) }
    },
  }),
}

const ENDS: Readonly<Record<string, (username: string) => Promise<unknown>>> = {
  'signed out elsewhere': async (username) => sessions.endAll((await users.find(username))!.id),
  'a new password': async (username) => users.setPassword(username, 'a password from elsewhere'),
  disabled: users.disable,
  deleted: users.delete,
}
/** The page of an interaction begins anew: who is nobody now is asked to sign in. */
const BEGINS_ANEW = new Set(['consent', 'step-up'])

test.each(Object.entries(FORMS))('%s', async (name, open) => {
  for (const [how, end] of Object.entries(ENDS)) {
    const { agent, action, fields, username } = await open()
    await end(username)
    const before = await stateOf(server)
    const page = await agent.post(action, fields)
    const says = /<h1>([^<]*)<\/h1>/.exec(page.body)?.[1]
    const expected = BEGINS_ANEW.has(name)
      ? ['Sign in', 'This page has expired', 'You are not signed in any more']
      : ['You are not signed in any more', 'This page has expired']
    expect([how, page.status < 500, expected.includes(String(says)) || says]).toEqual([how, true, true])
    expect([how, page.url.startsWith(server.url)]).toEqual([how, true])
    expect([how, await stateOf(server)]).toEqual([how, before])
  }
})
