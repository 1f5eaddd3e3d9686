/** What a token asks of the store on its way, each with values by which it finds what `fillForHot` has stored. */
import { randomUUID } from 'node:crypto'
import { statements as accessTokens } from '../../src/store/tokens.ts'
import { statements as authorizations } from '../../src/store/authorizations.ts'
import { statements as codes } from '../../src/store/authorization-codes.ts'
import { statements as refreshTokens } from '../../src/store/refresh-tokens.ts'
import type { Statement } from '../../src/store/statement.ts'
import type { TestDatabase } from './database.ts'

/** A code of `coded` waits for its exchange in a session of that `sid`; `held` has an Authorization and tokens. */
const [user, coded, held, fresh] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
const opaque = { opaqueHash: 'more', opaqueClaims: {}, opaqueExpiresAt: new Date(Date.now() + 60_000) }
const given = { clientId: 'web', subject: user, scopes: [], resources: [], parameters: {} }
const exchange = { id: coded, code: 'code', ...given, refreshToken: 'first', refreshLifetime: 60 }
const rotation = { id: held, hash: 'refresh', successor: 'next', sealed: 'x', lifetime: 60 }
const code = {
  authorizationId: fresh,
  hash: 'fresh',
  clientId: 'web',
  subject: user,
  redirectUri: 'https://app.example/',
  granted: {},
  proof: 'proof',
  lifetime: 60,
  sid: coded,
}
export const HOT: readonly (readonly [Statement<unknown>, readonly unknown[]])[] = [
  [codes.insert, codes.insert.values(code)],
  [codes.find, [coded, 'code']],
  [codes.exchange, codes.exchange.values(exchange)],
  [codes.exchangeForOpaque, codes.exchangeForOpaque.values({ ...exchange, ...opaque })],
  [refreshTokens.insert, [coded, 'refresh', 60]],
  [refreshTokens.find, [held]],
  [refreshTokens.confirm, [held, 'refresh']],
  [refreshTokens.rotate, refreshTokens.rotate.values(rotation)],
  [refreshTokens.rotateForOpaque, refreshTokens.rotateForOpaque.values({ ...rotation, ...opaque })],
  [accessTokens.insertAccessToken, accessTokens.insertAccessToken.values({ id: held, ...opaque })],
  [accessTokens.accessToken, [held, 'access']],
  [accessTokens.grantedToken, [held, 'access']],
  [accessTokens.revokeAccessToken, [held, 'access']],
  [authorizations.insert, authorizations.insert.values({ id: coded, ...given })],
  [authorizations.insertConsented, authorizations.insertConsented.values({ id: coded, ...given })],
  [authorizations.find, [held]],
  [authorizations.findByCode, [held, 'proof']],
  [authorizations.revoke, [held, 'test']],
]

export async function fillForHot(database: Pick<TestDatabase, 'query'>): Promise<void> {
  await database.query(`insert into users (id, username, username_key) values ($1, 'one', 'one')`, [user])
  await database.query(
    `insert into sessions (hash, sid, user_id, authenticated_at, amr, expires_at, ends_at)
      values ('s', $1, $2, now(), '{}', now() + interval '1 hour', now() + interval '1 hour')`,
    [coded, user],
  )
  await database.query(
    `insert into authorization_codes (authorization_id, hash, client_id, subject, redirect_uri, granted, expires_at)
      values ($1, 'code', 'web', $2, 'https://app.example/', '{}', now() + interval '1 hour')`,
    [coded, user],
  )
  await database.query(
    `insert into authorizations (id, client_id, subject, scopes, resources, parameters, code_proof)
      values ($1, 'web', 'one', '{}', '{}', '{}', 'proof')`,
    [held],
  )
  await database.query(
    `insert into refresh_tokens (authorization_id, hash, expires_at) values ($1, 'refresh', now() + interval '1 hour')`,
    [held],
  )
  await database.query(
    `insert into access_tokens (authorization_id, hash, claims, expires_at) values ($1, 'access', '{}', now() + interval '1 hour')`,
    [held],
  )
}
