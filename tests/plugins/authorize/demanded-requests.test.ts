/** What clients are registered to send holds also where the plugin that would look is left out: they get nothing any other way. */
import { expect, test } from 'vitest'
import { createAssertionKey } from '../../support/client-assertions.ts'
import { signingApp } from '../../support/request-objects.ts'
import { startServer } from '../../support/server.ts'
import { answerOf, authorizationUrl, SEED, WEB } from '../../support/sign-in.ts'
import { createUserAgent, findForm } from '../../support/user-agent.ts'

const key = await createAssertionKey()

test.each([
  ['require_pushed_authorization_requests', 'latchkey-par'],
  ['require_signed_request_object', 'latchkey-jar'],
])('%s, without %s', async (member, plugin) => {
  const seed = { ...SEED, clients: [WEB, signingApp('strict', key, { [member]: true })] }
  const { settings, database } = await startServer({}, { seed })
  const { PORT: _port, OIDC_ISSUER: _issuer, SEED_FILE: _seed, ...same } = settings
  const server = await startServer({ ...same, WITHOUT: plugin }, { database })
  const agent = createUserAgent(server.url)
  const refused = answerOf(await agent.get(authorizationUrl(server, { client_id: 'strict' })))
  expect([refused.get('error'), refused.get('error_description')]).toEqual([
    'unauthorized_client',
    `the client is registered with ${member}, which is not served here`,
  ])
  expect(findForm(await agent.get(authorizationUrl(server)), 'login')).toBeDefined()
})
