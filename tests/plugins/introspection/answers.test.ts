/** What introspection says (RFC 7662 §2.2): of a good token all of it, of any other that it is not active. */
import { hash } from 'node:crypto'
import { decodeJwt, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { createClient, getToken, introspect, type TestClient } from '../../support/clients.ts'
import { basic } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { addUserGrant, USER_GRANT } from '../../support/user-grant.ts'

const server = await startServer(
  { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false },
  { extend: addUserGrant },
)
const { clients } = server.server.oauth
const client = await createClient(server, { client_id: 'service', scope: ['a', 'b'] })
const opaque = await createClient(server, {
  client_id: 'opaque',
  scope: ['a', 'b'],
  access_token_format: 'opaque',
})
const watcher = await createClient(server, { scope: ['token_introspection'] })

async function tokenOf(owner: TestClient): Promise<string> {
  return (await getToken(server, owner)).access_token
}

async function answer(token: string): Promise<string> {
  const response = await server.post('/introspect', { token }, watcher.basic)
  return `${response.status} ${await response.text()}`
}

const INACTIVE = '200 {"active":false}'

describe('an active token', () => {
  test.each([client, opaque])('of $clientId is described completely, and by nothing else', async (owner) => {
    const answered = await introspect(server, watcher, await tokenOf(owner))
    expect(answered).toEqual({
      active: true,
      scope: 'a b',
      client_id: owner.clientId,
      token_type: 'Bearer',
      exp: expect.any(Number),
      iat: expect.any(Number),
      sub: owner.clientId,
      aud: server.url,
      iss: server.url,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
    expect(Number(answered['exp']) - Number(answered['iat'])).toBe(3600)
  })

  test('is known also when an earlier version of the server made it', async () => {
    const made = `lka_${'A'.repeat(43)}`
    await server.database.query(
      `insert into access_tokens (hash, claims, expires_at) select $1, claims, expires_at
       from access_tokens where hash = $2`,
      [made, await tokenOf(opaque)].map((token) => hash('sha256', token, 'base64url')),
    )
    expect(await introspect(server, watcher, made)).toMatchObject({ active: true, client_id: 'opaque' })
    expect(await answer(`lka_${'B'.repeat(43)}`)).toBe(INACTIVE)
  })

  test('says the same as its claims', async () => {
    const token = await tokenOf(client)
    const { active: _active, token_type: _type, ...rest } = await introspect(server, watcher, token)
    expect(rest).toEqual(decodeJwt(token))
  })

  test('of a user names the user', async () => {
    const app = await createClient(server, { scope: ['a'], grant_types: [USER_GRANT] })
    const form = { grant_type: USER_GRANT, scope: 'a', user: 'ada' }
    const { access_token } = await getToken(server, app, form)
    expect(await introspect(server, app, access_token)).toMatchObject({ active: true, sub: 'ada' })
  })

  test('token_type_hint changes nothing, right or wrong', async () => {
    const token = await tokenOf(client)
    for (const token_type_hint of ['access_token', 'refresh_token', 'nonsense']) {
      const response = await server.post('/introspect', { token, token_type_hint }, watcher.basic)
      expect(await response.json()).toMatchObject({ active: true })
    }
  })
})

describe('{"active":false} and nothing more', () => {
  test.each([
    'x',
    '..',
    'a.b.c',
    '\u00e9',
    'lka_',
    `lka_${'B'.repeat(43)}`,
    `lka_${'B'.repeat(64)}`,
    '\ud83d\udd11',
  ])('for %j', async (token) => {
    expect(await answer(token)).toBe(INACTIVE)
  })

  test('for a token that was cut or changed anywhere', async () => {
    const signed = await tokenOf(client)
    const stored = await tokenOf(opaque)
    const flip = (text: string, at: number) =>
      text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)
    const changed = [
      signed.slice(0, -1), `${signed}A`, `${signed}.`, flip(signed, 5), flip(signed, signed.indexOf('.') + 9),
      flip(signed, signed.lastIndexOf('.') + 3), signed.slice(0, signed.lastIndexOf('.') + 1),
      stored.slice(0, -1), `${stored}A`, flip(stored, 10), stored.slice(4), stored.toUpperCase(),
    ] // prettier-ignore
    expect(await Promise.all(changed.map(answer))).toEqual(changed.map(() => INACTIVE))
    expect(await answer(signed)).toContain('"active":true')
    expect(await answer(stored)).toContain('"active":true')
  })

  test('for a token with our claims that somebody else signed, or nobody', async () => {
    const token = await tokenOf(client)
    const { privateKey } = await generateKeyPair('ES256')
    const { keys } = (await (await server.get('/jwks')).json()) as { keys: { kid: string }[] }
    const header = { alg: 'ES256', typ: 'at+jwt', kid: keys[0]!.kid }
    const claims = decodeJwt(token)
    expect(await answer(await new SignJWT(claims).setProtectedHeader(header).sign(privateKey))).toBe(INACTIVE)
    expect(await answer(new UnsecuredJWT(claims).encode())).toBe(INACTIVE)
  })

  test('for a token that has expired', async () => {
    const short = await startServer({
      OIDC_TOKEN_EXPIRE: 0,
      OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false,
    })
    for (const access_token_format of ['jwt', 'opaque']) {
      const owner = await createClient(short, { scope: ['a'], access_token_format })
      const { access_token } = await getToken(short, owner)
      expect(await introspect(short, owner, access_token)).toEqual({ active: false })
    }
    await short.close()
  })

  test.each(['jwt', 'opaque'])('for a %s token whose client was deleted', async (access_token_format) => {
    const gone = await createClient(server, { scope: ['a'], access_token_format })
    const token = await tokenOf(gone)
    expect(await answer(token)).toContain('"active":true')
    await clients.delete(gone.clientId)
    expect(await answer(token)).toBe(INACTIVE)
  })

  test('for a token of another issuer that shares our keys', async () => {
    const { PORT: _port, OIDC_ISSUER: _issuer, ...shared } = server.settings
    const other = await startServer(shared, { database: server.database })
    const token = (await getToken(other, client)).access_token
    expect(await answer(token)).toBe(INACTIVE)
    await other.close()
  })
})

describe('a caller', () => {
  test('with bad credentials is 401, whatever the token', async () => {
    const token = await tokenOf(client)
    for (const headers of [basic('service', 'wrong'), basic('nobody', 'x'), {}]) {
      const response = await server.post('/introspect', { token }, headers)
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toMatch(/^Basic realm=/)
      expect(await response.json()).toMatchObject({ error: 'invalid_client' })
    }
  })

  test('that was deleted is 401', async () => {
    const gone = await createClient(server, { scope: ['token_introspection'] })
    await clients.delete(gone.clientId)
    expect((await server.post('/introspect', { token: 'x' }, gone.basic)).status).toBe(401)
  })

  test('that is public is 401: anybody could say its name', async () => {
    const metadata = { token_endpoint_auth_method: 'none', scope: ['a'], grant_types: [USER_GRANT] }
    const { clientId: client_id } = await createClient(server, metadata)
    const form = { grant_type: USER_GRANT, scope: 'a', user: 'ada', client_id }
    const { access_token: token } = (await (await server.post('/token', form)).json()) as {
      access_token: string
    }
    expect((await server.post('/introspect', { token, client_id })).status).toBe(401)
  })

  test('may use either way to send its secret', async () => {
    const { clientId: client_id, clientSecret: client_secret } = client
    const form = { token: await tokenOf(client), client_id, client_secret }
    expect(await (await server.post('/introspect', form)).json()).toMatchObject({ active: true })
  })
})

test.each(['/introspect', '/introspect/'])('%s: headers, and no other method', async (path) => {
  const response = await server.post(path, { token: 'x' }, watcher.basic)
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(response.headers.get('cache-control')).toBe('no-store')
  const refused = await server.get(`${path}?token=x`, watcher.basic)
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST'])
})

test('a request without a token asks about none, which is not active', async () => {
  const responses = [
    await server.post('/introspect', {}, watcher.basic),
    await server.post('/introspect', { token: '' }, watcher.basic),
  ]
  for (const response of responses) expect(`${response.status} ${await response.text()}`).toBe(INACTIVE)
})

test('a token of a deleted client stays dead when another client is registered under its id', async () => {
  const former = await createClient(server, { client_id: 'former', scope: ['a'] })
  const token = await tokenOf(former)
  await clients.delete('former')
  await createClient(server, { client_id: 'former', scope: ['a'] })
  // As if some time had gone by: clocks of several processes may differ by two seconds.
  await server.database.query(
    `update clients set created_at = now() + interval '3 s' where client_id = 'former'`,
  )
  await clients.update('former', { scope: ['b'] })
  expect(await answer(token)).toBe(INACTIVE)
})
