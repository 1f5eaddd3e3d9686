// Owns the bare ceiling of a user's tokens: the one statement that each endpoint cannot do without, on prepared
// statements of a pool, and the signatures. No client authentication, no PKCE, no consent, no scopes.

import { createHash, randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { SignJWT, jwtVerify, type CryptoKey } from 'jose'
import { Pool } from 'pg'

export interface SigningKey {
  algorithm: string
  kid: string
  privateKey: CryptoKey
  publicKey: CryptoKey
}

interface Issued {
  Body: { client_id: string; code: string; refresh_token: string }
}

const schema = `
  create table code (hash text primary key, subject text not null, spent_at timestamptz);
  create table refresh_token (hash text primary key, subject text not null, consumed_at timestamptz);
  create table access_token (hash text primary key, subject text not null);
  create table account (id text primary key, claims jsonb not null);`

const spendCode = `
  with spent as (update code set spent_at = now() where hash = $1 and spent_at is null returning subject)
  insert into refresh_token (hash, subject) select $2, subject from spent returning subject`

const rotate = `
  with consumed as (
    update refresh_token set consumed_at = now() where hash = $1 and consumed_at is null returning subject
  )
  insert into refresh_token (hash, subject) select $2, subject from consumed returning subject`

const findByToken = `
  select id, claims from account join access_token on subject = id where hash = $1`

const subject = 'bench'
const hashOf = (token: string) => createHash('sha256').update(token).digest('base64url')
const newToken = () => randomBytes(32).toString('base64url')

/** The first key signs access tokens; each signs ID tokens under a path of its own. */
export async function serveUsers(server: FastifyInstance, issuer: string, keys: SigningKey[]): Promise<void> {
  const pool = new Pool({ connectionString: process.env['DATABASE_URL'], max: 10 })
  const query = async (name: string, text: string, values: unknown[]) =>
    (await pool.query<Record<string, unknown>>({ name, text, values })).rows[0]
  await pool.query(schema)
  await query('new-account', 'insert into account values ($1, $2)', [subject, process.env['CLAIMS']])
  const [accessTokenKey] = keys
  if (!accessTokenKey) throw new Error('no key')

  server.get<{ Querystring: { redirect_uri: string } }>('/authorize', async (request, reply) => {
    const code = newToken()
    await query('new-code', 'insert into code values ($1, $2)', [hashOf(code), subject])
    return reply.redirect(`${request.query.redirect_uri}?code=${code}`)
  })
  server.post('/opaque', async () => {
    const access_token = newToken()
    await query('new-access-token', 'insert into access_token values ($1, $2)', [
      hashOf(access_token),
      subject,
    ])
    return { access_token }
  })

  for (const key of keys) {
    const issue = async (sub: unknown, client_id: string, refresh_token: string) => {
      const iat = Math.floor(Date.now() / 1000)
      const claims = { iss: issuer, sub: String(sub), iat, exp: iat + 3600 }
      const scope = 'openid profile email read_books'
      const [access_token, id_token] = await Promise.all([
        sign(
          accessTokenKey,
          { ...claims, aud: issuer, client_id, scope, jti: crypto.randomUUID() },
          'at+jwt',
        ),
        sign(key, { ...claims, aud: client_id, auth_time: iat }, 'JWT'),
      ])
      return { access_token, token_type: 'bearer', expires_in: 3600, refresh_token, id_token, scope }
    }
    const exchange = (name: string, statement: string, presented: (body: Issued['Body']) => string) =>
      server.post<Issued>(`/${name}/${key.algorithm}`, async (request, reply) => {
        const successor = newToken()
        const found = await query(name, statement, [hashOf(presented(request.body)), hashOf(successor)])
        if (!found) return reply.code(400).send({ error: 'invalid_grant' })
        reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' })
        return issue(found['subject'], request.body.client_id, successor)
      })
    exchange('code', spendCode, ({ code }) => code)
    exchange('refresh', rotate, ({ refresh_token }) => refresh_token)
  }

  const bearerOf = (header = '') => header.slice('Bearer '.length)
  server.get('/userinfo', async (request) => {
    const token = bearerOf(request.headers.authorization)
    const { payload } = await jwtVerify(token, accessTokenKey.publicKey, { typ: 'at+jwt', issuer })
    return claimsOf(await query('find', 'select id, claims from account where id = $1', [payload.sub]))
  })
  server.get('/userinfo/opaque', async (request) =>
    claimsOf(await query('find-by-token', findByToken, [hashOf(bearerOf(request.headers.authorization))])),
  )
}

function claimsOf(row: Record<string, unknown> | undefined): Record<string, unknown> {
  if (!row) throw new Error('nobody')
  return { sub: row['id'], ...(row['claims'] as Record<string, unknown>) }
}

function sign(
  { privateKey, algorithm, kid }: SigningKey,
  claims: Record<string, unknown>,
  typ: string,
): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: algorithm, typ, kid }).sign(privateKey)
}
