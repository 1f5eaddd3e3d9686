/** What MCP clients do: many processes of one client share one refresh token, and refresh at once, again and again. */
import { expect, test } from 'vitest'
import { createClient } from '../support/clients.ts'
import { codesOf, exchangeAs, refreshAs } from '../support/code-flow.ts'
import { bearer } from '../support/requests.ts'
import { startBeside, startServer } from '../support/server.ts'
import { createPkce, REDIRECT_URI, SEED } from '../support/sign-in.ts'

const server = await startServer({}, { seed: SEED })
const beside = await startBeside(server)
const PROCESSES = 5
const ROUNDS = 20

test('five processes that refresh at once, at two servers, all go on with one token, and the family lives', async () => {
  const metadata = { redirect_uri: REDIRECT_URI, token_endpoint_auth_method: 'none' }
  const created = await server.server.oauth.clients.create(metadata)
  const client = { clientId: created.client_id!, clientSecret: '', basic: { authorization: '' } }
  const { challenge, verifier } = createPkce()
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
  const code = await codesOf(server, { client_id: client.clientId, ...pkce })()
  let { tokens } = await exchangeAs(server, client, code, { code_verifier: verifier })
  for (let round = 0; round < ROUNDS; round++) {
    const { refresh_token: token } = tokens
    const answers = await Promise.all(
      Array.from({ length: PROCESSES }, async (_, n) =>
        refreshAs(n % 2 === 0 ? server : beside, client, token),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: PROCESSES }, () => 200))
    expect(new Set(answers.map((answer) => answer.tokens.refresh_token)).size).toBe(1)
    for (const answer of answers)
      expect((await beside.get('/userinfo', bearer(answer.tokens.access_token))).status).toBe(200)
    // One that lost its answer comes once more, behind the others.
    const late = await refreshAs(beside, client, token)
    expect(late.tokens.refresh_token).toBe(answers[0]!.tokens.refresh_token)
    tokens = answers[round % PROCESSES]!.tokens
  }
})

test('what shows a theft still ends the family: a token of before, when its successor was used', async () => {
  const client = await createClient(server, {
    redirect_uri: REDIRECT_URI,
    client_secret: 'a secret of one client',
  })
  const code = await codesOf(server, { client_id: client.clientId })()
  const { tokens: first } = await exchangeAs(server, client, code)
  const { tokens: second } = await refreshAs(server, client, first.refresh_token)
  const { tokens: third } = await refreshAs(beside, client, second.refresh_token)
  expect((await refreshAs(server, client, first.refresh_token)).error).toBe('invalid_grant')
  expect((await refreshAs(beside, client, third.refresh_token)).error).toBe('invalid_grant')
})
