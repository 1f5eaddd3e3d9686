/** Which resources a token is for (RFC 8707), and what they ask of it: lifetime and format. */
import { describe, expect, test } from 'vitest'
import { createClient, getToken, requestToken, type TokenResponse } from '../../support/clients.ts'
import type { Form } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'

const BOOKS = 'https://books.example'
const MUSIC = 'https://music.example/v1'
const VAULT = 'urn:example:vault'
const seed = {
  resources: [
    { resource: BOOKS, name: 'Books', scopes: ['read_books', 'write_books'] },
    { resource: MUSIC, scopes: ['play'], access_token_lifetime: 60 },
    { resource: VAULT, scopes: ['open'], access_token_format: 'opaque', access_token_lifetime: 7200 },
    { resource: 'https://unused.example', scopes: ['unused'] },
  ],
}
const server = await startServer({}, { seed })
const everything = ['read_books', 'write_books', 'play', 'open', 'plain']
const client = await createClient(server, { scope: everything })

function claimsOf({ access_token }: TokenResponse): Record<string, unknown> {
  return JSON.parse(Buffer.from(access_token.split('.')[1]!, 'base64url').toString())
}

async function audience(form: Form): Promise<unknown> {
  return claimsOf(await getToken(server, client, form))['aud']
}

describe('audience', () => {
  test('is the resource of the granted scopes; the issuer for a scope that nobody placed', async () => {
    expect(await audience({ scope: 'read_books' })).toBe(BOOKS)
    expect(await audience({ scope: 'plain' })).toBe(server.url)
  })

  test('is a list when the scopes belong to several', async () => {
    expect(await audience({ scope: 'read_books plain play write_books' })).toEqual([BOOKS, server.url, MUSIC])
  })

  test('is narrowed by resource, which takes no granted scope away', async () => {
    const form = { scope: 'read_books play plain', resource: MUSIC }
    const token = await getToken(server, client, form)
    expect(claimsOf(token)).toMatchObject({ aud: MUSIC, scope: 'read_books play plain' })
    expect(token.scope).toBe('read_books play plain')
  })

  test('several resources may be asked for, and one of them twice', async () => {
    const asked: Form = [BOOKS, MUSIC, BOOKS].map((one) => ['resource', one])
    expect(await audience([['scope', 'read_books play plain'], ...asked])).toEqual([BOOKS, MUSIC])
  })

  test('the issuer can be asked for like any other', async () => {
    expect(await audience({ scope: 'plain play', resource: server.url })).toBe(server.url)
  })
})

describe('T3: invalid_target', () => {
  test.each([
    ['that nobody registered', 'https://nowhere.example'],
    ['that no granted scope belongs to', BOOKS],
    ['that no scope of the client belongs to', 'https://unused.example'],
    ['with a slash too many', `${MUSIC}//`],
    ['that is no URI', 'music'],
  ])('for a resource %s', async (_what, resource) => {
    const response = await requestToken(server, client, { scope: 'play', resource })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: 'invalid_target' })
  })

  test('for one bad resource among good ones', async () => {
    const asked: Form = [MUSIC, 'https://nowhere.example'].map((one) => ['resource', one])
    const response = await requestToken(server, client, [['scope', 'play'], ...asked])
    expect(await response.json()).toMatchObject({ error: 'invalid_target' })
  })
})

describe('lifetime', () => {
  test('of the resource, where it has one', async () => {
    const token = await getToken(server, client, { scope: 'play' })
    expect(token.expires_in).toBe(60)
    const { exp, iat } = claimsOf(token) as { exp: number; iat: number }
    expect(exp - iat).toBe(60)
    expect((await getToken(server, client, { scope: 'open' })).expires_in).toBe(7200)
  })

  test('of several resources, the shortest', async () => {
    expect((await getToken(server, client, { scope: 'read_books play open' })).expires_in).toBe(60)
    expect((await getToken(server, client, { scope: 'read_books open' })).expires_in).toBe(3600)
  })
})

describe('format', () => {
  test('opaque for a resource that asks for it, also among others', async () => {
    for (const scope of ['open', 'read_books open']) {
      const { access_token } = await getToken(server, client, { scope })
      expect(access_token).toMatch(/^lka_[\w-]{64}$/)
    }
  })

  test('opaque for a client that asks for it, whatever the resource', async () => {
    const opaque = await createClient(server, { scope: ['play'], access_token_format: 'opaque' })
    expect((await getToken(server, opaque)).access_token).toMatch(/^lka_[\w-]{64}$/)
  })

  test('else a JWT of RFC 9068', async () => {
    const { access_token } = await getToken(server, client, { scope: 'play' })
    const header = JSON.parse(Buffer.from(access_token.split('.')[0]!, 'base64url').toString())
    expect(header).toEqual({ typ: 'at+jwt', alg: 'ES256', kid: expect.any(String) })
  })

  test('a resource that changes is followed by the next token', async () => {
    const { resources } = server.server.oauth
    await resources.saveResource({ resource: 'https://changing.example' })
    await resources.saveScope({ name: 'change', resource: 'https://changing.example' })
    const own = await createClient(server, { scope: ['change'] })
    expect((await getToken(server, own)).expires_in).toBe(3600)
    await resources.saveResource({ resource: 'https://changing.example', access_token_lifetime: 5 })
    expect((await getToken(server, own)).expires_in).toBe(5)
  })
})
