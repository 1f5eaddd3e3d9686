/** Who has both a passkey and an authenticator app. */
import { expect, test } from 'vitest'
import { asksForFactor, codeOf, setUpFactor } from '../../support/authenticator.ts'
import { ALICE, answerOf, authorizationUrl, goThrough } from '../../support/sign-in.ts'
import { createUserAgent, findForm } from '../../support/user-agent.ts'
import { signedIn } from '../account/owner.ts'
import { addPasskey, signInWith, startAtLocalhost } from '../passkeys/passkeys.ts'

const server = await startAtLocalhost()

test('is asked for the code after the password, and for none after the passkey; for the passkey where that is demanded', async () => {
  const owner = await signedIn(server)
  const { passkey } = await addPasskey(server, owner)
  const { secret } = await setUpFactor(owner, server.url)
  const { username, password } = ALICE
  const agent = createUserAgent(server.url)
  const factor = await agent.submit(await agent.get(`${server.url}/account`), 'login', { username, password })
  expect(asksForFactor(factor)).toBe(true)
  const inside = await agent.submit(factor, 'second-factor', { code: codeOf(secret) })
  expect(inside.body).toContain('signed-in-as')
  const acr = { essential: true, values: ['phr'] }
  const demand = authorizationUrl(server, { claims: JSON.stringify({ id_token: { acr } }) })
  const asked = await agent.get(demand)
  expect([asksForFactor(asked), findForm(asked, 'passkey-form') !== undefined]).toEqual([false, true])
  const after = await goThrough(agent, await signInWith(agent, asked, passkey))
  expect(answerOf(after).get('code')).toMatch(/./)
  const other = createUserAgent(server.url)
  const page = await signInWith(other, await other.get(`${server.url}/account`), passkey)
  expect(page.body).toContain('signed-in-as')
})
