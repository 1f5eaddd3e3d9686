/**
 * A grant that answers by itself: here an identity assertion (ID-JAG, draft-ietf-oauth-identity-assertion-authz-grant), which
 * the server says of a user to another server, and takes from another one. Neither is a token of ours until it is taken.
 */
import { createLocalJWKSet, decodeJwt, jwtVerify, type JSONWebKeySet } from 'jose'
import { expect, test } from 'vitest'
import { answer } from '../../../src/doors/answer.ts'
import type { UserRecords } from '../../../src/doors/user-records.ts'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { Repeatable } from '../../../src/protocol/parameters.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { createClient } from '../../support/clients.ts'
import { basic } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, getTokens, SEED, WEB } from '../../support/sign-in.ts'

const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag'
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
let policies = 0
let links!: UserRecords

const server = await startServer({ WITHOUT: 'latchkey-token-exchange,latchkey-jwt-bearer' }, {
  seed: { ...SEED, clients: [{ ...WEB, grant_types: ['authorization_code', EXCHANGE] }] },
  async extend({ oauth }) {
    const keys = () => createLocalJWKSet(JSON.parse(oauth.keys.jwks().toString()) as JSONWebKeySet)
    links = oauth.users.records('link', { unique: true })
    oauth.add('policy', async () => void policies++)

    // What an identity provider gives an app for its ID token of a user, to show to the server of another app.
    oauth.registerGrant({
      type: EXCHANGE,
      parameters: Type.Object({ subject_token: Type.String(), audience: Repeatable() }),
      async authorize({ subject_token: token, audience: [audience] }, { client }) {
        const { payload } = await jwtVerify(token, keys(), { issuer: oauth.issuer, audience: client.clientId }).catch(() => {
          throw new OAuthError('invalid_request', 'the subject_token is not good')
        })
        if (!(await oauth.sessions.isOpen(String(payload['sid'])))) throw new OAuthError('invalid_grant', 'signed out')
        const now = Math.floor(Date.now() / 1000)
        const claims = { sub: payload.sub, aud: audience, client_id: client.clientId, jti: payload['sid'], iat: now, exp: now + 60 }
        const access_token = await oauth.signStatement(claims, { typ: 'oauth-id-jag+jwt', algorithm: 'RS256' })
        return answer({ body: { issued_token_type: ID_JAG, access_token, token_type: 'N_A', expires_in: 60 } })
      },
    })

    // And what the server of that other app makes of it.
    oauth.registerGrant({
      type: BEARER,
      parameters: Type.Object({ assertion: Type.String() }),
      async authorize({ assertion }, { client }) {
        const { payload } = await jwtVerify(assertion, keys(), { typ: 'oauth-id-jag+jwt', audience: oauth.issuer })
        if (!(await oauth.once(BEARER, String(payload.jti), new Date(payload.exp! * 1000))))
          throw new OAuthError('invalid_grant', 'the assertion was used before')
        const subject = await links.owner(`${payload.iss} ${payload.sub}`)
        if (subject === null) throw new OAuthError('invalid_grant', 'nobody here is this user')
        return { subject, scopes: client.grantableScopes, resources: [] }
      },
    })
  },
}) // prettier-ignore

test('what it answers is the answer: nothing is minted, stored or judged by policies', async () => {
  const { id_token: idToken } = await getTokens(server)
  const stored = await server.database.query('select count(*) from authorizations')
  const judged = policies
  const ask = async (token: string, audience: string): Promise<Response> =>
    server.post(
      '/token',
      { grant_type: EXCHANGE, subject_token: token, audience },
      basic('web', WEB.client_secret),
    )
  const response = await ask(idToken, server.url)
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
  const { access_token: assertion, ...told } = (await response.json()) as Record<string, string>
  expect(told).toEqual({ issued_token_type: ID_JAG, token_type: 'N_A', expires_in: 60 })
  expect(await server.database.query('select count(*) from authorizations')).toEqual(stored)
  expect(policies).toBe(judged)
  expect((await ask('none', server.url)).status).toBe(400)

  // It is no access token: no endpoint of ours takes it for one.
  expect(await server.server.oauth.verify(assertion!)).toBeNull()

  const { users } = server.server.oauth
  const alice = (await users.find(ALICE.username))!.id
  const { iss, sub } = decodeJwt(assertion!)
  await links.put(alice, `${iss} ${sub}`, {})
  const api = await createClient(server, { scope: ['read_books'], grant_types: [BEARER] })
  const redeem = async (): Promise<Response> =>
    server.post('/token', { grant_type: BEARER, assertion: assertion! }, api.basic)
  const tokens = (await (await redeem()).json()) as { access_token: string }
  expect((await server.server.oauth.verify(tokens.access_token))?.authorization?.subject).toBe(alice)
  expect(policies).toBe(judged + 1)
  expect(await (await redeem()).json()).toMatchObject({ error: 'invalid_grant' })
})
