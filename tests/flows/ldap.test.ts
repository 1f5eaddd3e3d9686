/** People of a directory sign in on our own page, from there to an app and back; and who must not get in that way. @needs latchkey-ldap */
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'
import { answerOf, authorize, authorizationUrl, exchange, goThrough, SEED, type Tokens } from '../support/sign-in.ts'
import { ADA, CAROL, noSlapd, type Slapd, startSlapd } from '../support/slapd.ts'
import { createUserAgent } from '../support/user-agent.ts'

describe.skipIf(noSlapd)('a directory', () => {
  let slapd: Slapd
  let server: TestServer

  beforeAll(async () => {
    slapd = await startSlapd()
    server = await startServer(slapd.settings, { seed: SEED })
  })

  test('somebody new comes from it to the code of an app, with what it says of them', async () => {
    const answer = await authorize(server, { scope: 'openid profile email' }, createUserAgent(server.url), {
      username: 'ada',
      password: ADA.password,
    })
    const response = await exchange(server, answer.get('code')!)
    const tokens = (await response.json()) as Tokens
    expect(decodeJwt(tokens.id_token)).toMatchObject({
      preferred_username: 'ada',
      name: 'Ada Lovelace',
      given_name: 'Ada',
      family_name: 'Lovelace',
      email: 'ada@example.org',
      email_verified: false,
      amr: ['pwd'],
    })
  })
})
