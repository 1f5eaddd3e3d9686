/** What introspection says of a refresh token (RFC 7662 §2.1): to the client that holds it that it is good, to nobody else, and it stays as it is. */
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import type { Verifier } from '../../../plugins/require-scope/index.ts'
import { introspect } from '../../support/clients.ts'
import { exchangeAs, refreshAs } from '../../support/code-flow.ts'
import { basic, bearer } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { toClient } from '../../support/service.ts'
import { authorize, getTokens, SEED, WEB } from '../../support/sign-in.ts'
import { startApp } from '../require-scope/support.ts'

const PAIRWISE = { ...WEB, client_id: 'pairwise', subject_type: 'pairwise' }
const API = { client_id: 'api', client_secret: WEB.client_secret, scope: ['token_introspection', 'web'] }
const server = await startServer(
  {},
  {
    seed: { ...SEED, clients: [WEB, PAIRWISE, API] },
    extend: (app) => app.get('/read', { config: { scope: 'read_books' } }, async () => ({})),
  },
)
const web = toClient(WEB)
const api = toClient(API)
const BOOKS = { scope: 'openid read_books' }
const INACTIVE = { active: false }

test('its client is told for whom, for what and until when it is good, and goes on by it', async () => {
  const { refresh_token, id_token } = await getTokens(server, BOOKS)
  const before = Math.floor(Date.now() / 1000)
  const told = await introspect(server, web, refresh_token)
  expect(told).toEqual({
    active: true,
    scope: 'openid read_books',
    client_id: 'web',
    exp: expect.any(Number),
    iat: expect.any(Number),
    sub: decodeJwt(id_token).sub,
    iss: server.url,
  })
  expect(Math.abs(Number(told['iat']) - before)).toBeLessThan(30)
  expect(Number(told['exp'])).toBeGreaterThan(before)
  expect(await introspect(server, web, refresh_token)).toEqual(told)

  const refreshed = await refreshAs(server, web, refresh_token)
  expect(refreshed.status).toBe(200)
  // One that is used is good no more, and who asks about it is no thief.
  expect(await introspect(server, web, refresh_token)).toEqual(INACTIVE)
  expect(await introspect(server, web, refreshed.tokens.refresh_token)).toMatchObject({ active: true })
})

test('by the sub that its client knows', async () => {
  const pairwise = toClient(PAIRWISE)
  const code = (await authorize(server, { client_id: 'pairwise' })).get('code') ?? ''
  const { tokens } = await exchangeAs(server, pairwise, code)
  const { sub } = decodeJwt(tokens.id_token)
  expect(await introspect(server, pairwise, tokens.refresh_token)).toMatchObject({ active: true, sub })
})

test('in a JWT too', async () => {
  const { refresh_token: token } = await getTokens(server, BOOKS)
  const accept = 'application/token-introspection+jwt'
  const response = await server.post('/introspect', { token }, { ...web.basic, accept })
  expect(decodeJwt(await response.text())['token_introspection']).toMatchObject({ active: true })
})

test('nobody else is told, with whatever right, nor of one that ended or was never given', async () => {
  const { refresh_token } = await getTokens(server, BOOKS)
  for (const other of [api, toClient(PAIRWISE)])
    expect(await introspect(server, other, refresh_token)).toEqual(INACTIVE)
  for (const changed of [`${refresh_token.slice(0, -6)}AAAAAA`, refresh_token.slice(0, -1)])
    expect(await introspect(server, web, changed)).toEqual(INACTIVE)
  await server.database.query(`update refresh_tokens set expires_at = now() - interval '1 second'`)
  expect(await introspect(server, web, refresh_token)).toEqual(INACTIVE)
  await server.database.query(`update refresh_tokens set expires_at = now() + interval '1 hour'`)
  expect(await introspect(server, web, refresh_token)).toMatchObject({ active: true })
  await server.post('/revoke', { token: refresh_token }, web.basic)
  expect(await introspect(server, web, refresh_token)).toEqual(INACTIVE)
})

test('it is no access token anywhere', async () => {
  const { refresh_token } = await getTokens(server, BOOKS)
  for (const path of ['/userinfo', '/read'])
    expect((await server.get(path, bearer(refresh_token))).status).toBe(401)
  expect(await server.server.oauth.verify(refresh_token)).toBeNull()
  // An API that asks about what it is shown, as the page of the package has it.
  const asking: Verifier = {
    async verify(token) {
      const claims = await introspect(server, web, token)
      return {
        issuer: String(claims['iss']),
        subject: String(claims['sub']),
        clientId: String(claims['client_id']),
        scopes: new Set(String(claims['scope']).split(' ')),
        audience: [claims['aud']].flat().map(String),
        issuedAt: new Date(),
        expiresAt: new Date(Number(claims['exp']) * 1000),
        claims,
      }
    },
  }
  const app = await startApp({ verifier: asking, audience: server.url })
  const { access_token } = await getTokens(server, BOOKS)
  const statusOf = async (token: string) =>
    (await app.inject({ url: '/books', headers: bearer(token) })).statusCode
  expect([await statusOf(access_token), await statusOf(refresh_token)]).toEqual([200, 401])
})

test('a client that was deleted has none, also where another has its name now', async () => {
  const { clients } = server.server.oauth
  const old = { ...WEB, client_id: 'old' }
  await clients.create(old)
  const code = (await authorize(server, { client_id: 'old' })).get('code') ?? ''
  const { tokens } = await exchangeAs(server, toClient(old), code)
  const ask = async () =>
    (
      await server.post('/introspect', { token: tokens.refresh_token }, basic('old', WEB.client_secret))
    ).json()
  expect(await ask()).toMatchObject({ active: true })
  await server.database.query(
    `update authorizations set created_at = created_at - interval '1 hour' where client_id = 'old'`,
  )
  await clients.delete('old')
  await clients.create(old)
  expect(await ask()).toEqual(INACTIVE)
})
