/** How clients prove who they are (RFC 6749 §2.3), at the token endpoint. */
import { describe, expect, test } from 'vitest'
import { createClient } from '../../support/clients.ts'
import { basic } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { addUserGrant, USER_GRANT } from '../../support/user-grant.ts'

const server = await startServer({}, { extend: addUserGrant })
const client = await createClient(server, { client_id: 'service', scope: ['a'] })
const { clientId: client_id, clientSecret: client_secret } = client
const grant = { grant_type: 'client_credentials' }

async function answer(
  form: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<number | string> {
  const response = await server.post('/token', { ...grant, ...form }, headers)
  const { error } = (await response.json()) as { error?: string }
  return error === undefined ? response.status : `${response.status} ${error}`
}

const raw = (credentials: string): { authorization: string } => ({
  authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
})

describe('client_secret_basic', () => {
  const odd = { client_id: 'https://rp.example/a:b+c%20', client_secret: 's:e+c r%41t/é=&' }

  test('id and secret may be form-encoded, as RFC 6749 asks, whatever they hold', async () => {
    await createClient(server, { ...odd, scope: ['a'] })
    expect(await answer({}, basic(odd.client_id, odd.client_secret))).toBe(200)
  })

  test('or raw, as many clients send them', async () => {
    const plain = { client_id: 'raw id', client_secret: 'a+b%2Fc:d é' }
    await createClient(server, { ...plain, scope: ['a'] })
    expect(await answer({}, raw(`${plain.client_id}:${plain.client_secret}`))).toBe(200)
    expect(await answer({}, basic(plain.client_id, plain.client_secret))).toBe(200)
  })

  test.each(['basic', 'BASIC', 'bAsIc'])('the scheme %s is the same one', async (scheme) => {
    const authorization = client.basic.authorization.replace('Basic', scheme)
    expect(await answer({}, { authorization })).toBe(200)
  })

  test.each([
    ['not base64', 'Basic %%%'],
    ['without padding', `Basic ${Buffer.from(`service:${client_secret}x`).toString('base64url')}`],
    ['without a colon', `Basic ${Buffer.from('service').toString('base64')}`],
    ['without an id', `Basic ${Buffer.from(`:${client_secret}`).toString('base64')}`],
    ['not UTF-8', `Basic ${Buffer.from([0xff, 0xfe, 0x3a, 0x61]).toString('base64')}`],
    ['empty', 'Basic'],
    ['of another scheme', `Bearer ${client_secret}`],
  ])('a header that is %s is 401 invalid_client', async (_what, authorization) => {
    expect(await answer({}, { authorization })).toBe('401 invalid_client')
  })
})

describe('client_secret_post', () => {
  test('works, and does not work with an empty secret', async () => {
    expect(await answer({ client_id, client_secret })).toBe(200)
    expect(await answer({ client_id, client_secret: '' })).toBe('401 invalid_client')
    expect(await answer({ client_secret })).toBe('401 invalid_client')
  })
})

describe('both', () => {
  test('at once is invalid_request, even when both are right', async () => {
    expect(await answer({ client_id, client_secret }, client.basic)).toBe('400 invalid_request')
    expect(await answer({ client_secret }, client.basic)).toBe('400 invalid_request')
  })

  test('Basic with the same client_id in the body is one method', async () => {
    expect(await answer({ client_id }, client.basic)).toBe(200)
  })

  test('Basic with another client_id in the body is invalid_request', async () => {
    expect(await answer({ client_id: 'other' }, client.basic)).toBe('400 invalid_request')
  })
})

describe('token_endpoint_auth_method', () => {
  test.each([
    ['client_secret_basic', 200, '401 invalid_client'],
    ['client_secret_post', '401 invalid_client', 200],
    ['tls_client_auth', '401 invalid_client', '401 invalid_client'],
  ])('%s is enforced once it is set', async (method, byBasic, byPost) => {
    const set = await createClient(server, { scope: ['a'], client_secret: 'chosen' })
    await server.server.oauth.clients.update(set.clientId, { token_endpoint_auth_method: method })
    expect(await answer({}, set.basic)).toBe(byBasic)
    expect(await answer({ client_id: set.clientId, client_secret: set.clientSecret })).toBe(byPost)
  })

  test('none: the client names itself, and uses only grants for public clients', async () => {
    const metadata = { token_endpoint_auth_method: 'none', scope: ['a'], grant_types: [USER_GRANT] }
    const { clientId } = await createClient(server, metadata)
    const user = { grant_type: USER_GRANT, scope: 'a', user: 'ada' }
    expect(await answer({ ...user, client_id: clientId })).toBe(200)
    expect(await answer({ client_id: clientId })).toBe('400 unauthorized_client')
    expect(await answer({ ...user, client_id: clientId, client_secret: 'made-up' })).toBe(
      '401 invalid_client',
    )
  })

  test('none: Basic with an empty secret names a public client too, and proves nobody else', async () => {
    const metadata = { token_endpoint_auth_method: 'none', scope: ['a'], grant_types: [USER_GRANT] }
    const { clientId } = await createClient(server, metadata)
    const user = { grant_type: USER_GRANT, scope: 'a', user: 'ada' }
    const empty = basic(clientId, '')
    expect(await answer(user, empty)).toBe(200)
    expect(await answer({ ...user, client_id: clientId }, empty)).toBe(200)
    expect(await answer({ ...user, client_id: 'other' }, empty)).toBe('400 invalid_request')
    expect(await answer({ ...user, client_id: clientId, client_secret: 'made-up' }, empty)).toBe(
      '401 invalid_client',
    )
    expect(await answer(user, basic(clientId, 'made-up'))).toBe('401 invalid_client')
    expect(await answer({}, basic(client_id, ''))).toBe('401 invalid_client')
    expect(await answer({ client_id }, basic(client_id, ''))).toBe('401 invalid_client')
    expect(await answer({}, basic('nobody', ''))).toBe('401 invalid_client')
  })

  test('a client with a secret cannot go without it', async () => {
    expect(await answer({ client_id })).toBe('401 invalid_client')
  })
})

describe('an unknown client and a wrong secret', () => {
  const refusals = [
    async () => server.post('/token', grant, basic('nobody', client_secret)),
    async () => server.post('/token', grant, basic(client_id, 'wrong')),
    async () => server.post('/token', { ...grant, client_id: 'nobody', client_secret }),
    async () => server.post('/token', { ...grant, client_id, client_secret: 'wrong' }),
    async () => server.post('/token', { ...grant, client_id: 'nobody' }),
    async () => server.post('/token', grant),
  ]

  test('are one answer, with a challenge', async () => {
    const answers = await Promise.all(refusals.map(async (refuse) => refuse()))
    for (const response of answers) {
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toBe(`Basic realm="${server.url}", charset="UTF-8"`)
    }
    const bodies = await Promise.all(answers.map(async (response) => response.text()))
    expect(new Set(bodies).size).toBe(1)
    expect(JSON.parse(bodies[0]!)).toMatchObject({ error: 'invalid_client' })
  })
})

describe('a secret that is replaced', () => {
  test('works beside the new one while they overlap, and not otherwise', async () => {
    const { clients } = server.server.oauth
    const old = await createClient(server, { scope: ['a'] })
    const next = await clients.rotateSecret(old.clientId, 60)
    expect(await answer({}, old.basic)).toBe(200)
    expect(await answer({}, basic(old.clientId, next.client_secret!))).toBe(200)
    const last = await clients.rotateSecret(old.clientId)
    expect(await answer({}, old.basic)).toBe('401 invalid_client')
    expect(await answer({}, basic(old.clientId, next.client_secret!))).toBe('401 invalid_client')
    expect(await answer({}, basic(old.clientId, last.client_secret!))).toBe(200)
  })

  test('a deleted client gets nothing any more', async () => {
    const gone = await createClient(server, { scope: ['a'] })
    expect(await answer({}, gone.basic)).toBe(200)
    await server.server.oauth.clients.delete(gone.clientId)
    expect(await answer({}, gone.basic)).toBe('401 invalid_client')
  })
})
