/** Whose token it is, by name (RFC 7662 §2.2): what a mail server needs that knows people by their user names. */
import { expect, test } from 'vitest'
import { createClient, getToken, introspect } from '../../support/clients.ts'
import { exchangeAs, refreshAs } from '../../support/code-flow.ts'
import { startServer } from '../../support/server.ts'
import { toClient } from '../../support/service.ts'
import { ALICE, authorize, getTokens, SEED, WEB } from '../../support/sign-in.ts'

const SECRET = WEB.client_secret
const OPAQUE = { ...WEB, client_id: 'opaque', access_token_format: 'opaque' }
const PAIRWISE = { ...WEB, client_id: 'pairwise', subject_type: 'pairwise' }
const PAIRWISE_OPAQUE = { ...PAIRWISE, client_id: 'pairwise opaque', access_token_format: 'opaque' }
const server = await startServer({}, { seed: { ...SEED, clients: [WEB, OPAQUE, PAIRWISE, PAIRWISE_OPAQUE] } })
const web = toClient(WEB)

/** What the client is told of the token that it got for Alice. */
async function answerTo(
  client_id: string,
  scope: string,
  narrowed?: string,
): Promise<Record<string, unknown>> {
  const client = toClient({ client_id, client_secret: SECRET })
  const code = (await authorize(server, { client_id, scope })).get('code') ?? ''
  const { tokens } = await exchangeAs(server, client, code)
  if (narrowed === undefined) return introspect(server, client, tokens.access_token)
  const refreshed = await refreshAs(server, client, tokens.refresh_token, { scope: narrowed })
  return introspect(server, client, refreshed.tokens.access_token)
}

test.each(['web', 'opaque'])('a token of a person names them: %s', async (client) => {
  const answer = await answerTo(client, 'openid read_books')
  expect(answer).toMatchObject({ active: true, username: ALICE.username, client_id: client })
})

test('one that a client got for itself names nobody', async () => {
  const service = await createClient(server, { scope: ['read_books', 'token_introspection'] })
  const { access_token: token } = await getToken(server, service)
  expect(await introspect(server, service, token)).not.toHaveProperty('username')
})

test('who knows people by a pseudonym is told the name with the profile alone', async () => {
  const without = await answerTo('pairwise', 'openid')
  expect(without).toMatchObject({ active: true })
  expect(without).not.toHaveProperty('username')
  expect(await answerTo('pairwise', 'openid profile')).toMatchObject({ username: ALICE.username })
})

test.each(['pairwise', 'pairwise opaque'])(
  'a token that was refreshed without the profile is told by itself: %s',
  async (client) => {
    const narrowed = await answerTo(client, 'openid profile', 'openid')
    expect(narrowed).toMatchObject({ active: true, scope: 'openid' })
    expect(narrowed).not.toHaveProperty('username')
    expect(await answerTo(client, 'openid profile', 'openid profile')).toMatchObject({
      username: ALICE.username,
    })
  },
)

test('the name costs no statement more, once it is known', async () => {
  const { access_token: token } = await getTokens(server)
  await introspect(server, web, token)
  const { oauth } = server.server
  const user = (await oauth.users.find(ALICE.username))!
  // From memory: what the database says meanwhile is not asked for.
  await server.database.query(`update users set username = 'renamed' where id = $1`, [user.id])
  expect(await introspect(server, web, token)).toMatchObject({ username: ALICE.username })
  await server.database.query(`update users set username = $2 where id = $1`, [user.id, ALICE.username])
})
