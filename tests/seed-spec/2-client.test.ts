/** seed-spec.md §2: the client's fields, and the token response of client_credentials. */
import { describe, expect, test } from 'vitest'
import { runCommandHere } from '../support/command-here.ts'
import { createClient, getToken, requestToken } from '../support/clients.ts'
import { client, exchangeOf, requestTokens, seedAnswer, startSeedServer, tokenRequest } from './server.ts'

const server = await startSeedServer()
const { clients } = server.server.oauth

describe('§2 Client', () => {
  test('a client with the five listed fields and no others can use client_credentials', async () => {
    const response = await server.request('/token/', tokenRequest())
    expect(response.status).toBe(200)
  })

  test('the same five fields register it from code, redirect_uri in the singular, and a user can sign in to it', async () => {
    const created = await clients.create({ ...client, client_id: 'by-code' })
    expect(created.redirect_uris).toEqual([client.redirect_uri])
    const answer = await seedAnswer(server, { client_id: 'by-code' })
    const form = { ...exchangeOf(answer.get('code')!), client_id: 'by-code' }
    expect((await requestTokens(server, form)).status).toBe(200)
  })

  test('its fields read back; the secret never does', async () => {
    const found = await clients.find(client.client_id)
    expect(found).toMatchObject({
      client_id: 'books-service',
      response_types: ['code'],
      redirect_uris: ['https://rp.example/callback'],
      scope: ['read_books', 'write_books'],
    })
    expect(JSON.stringify(found)).not.toContain(client.client_secret)
  })

  test('scope is set programmatically: assign a list, save the client, and the next token has it', async () => {
    const created = await clients.create({ client_id: 'from-code', scope: ['read_books'] })
    const service = await createClient(server, { scope: ['read_books'] })
    const stored = await clients.find(service.clientId)
    expect((await getToken(server, service)).scope).toBe('read_books')

    stored!.scope = ['write_books', 'read_books', 'lend_books']
    await clients.save(stored!)
    expect((await getToken(server, service)).scope).toBe('write_books read_books lend_books')

    created.scope = ['lend_books']
    await clients.save(created)
    expect((await clients.find('from-code'))?.scope).toEqual(['lend_books'])
  })

  test('scope is set in the administration interface, here the command line: the next token has it', async () => {
    const service = await createClient(server, { scope: ['read_books'] })
    const command = ['client', 'update', service.clientId, '--scope', 'lend_books read_books']
    expect(await runCommandHere(command, server.settings)).toMatchObject({ status: 0 })
    const scopeOfToken = async () => (await getToken(server, service)).scope
    await expect.poll(scopeOfToken).toBe('lend_books read_books')
  })

  test('a client whose scope list is emptied gets no token any more', async () => {
    const service = await createClient(server, { scope: ['read_books'], grant_types: ['client_credentials'] })
    const stored = await clients.find(service.clientId)
    stored!.scope = []
    await clients.save(stored!)
    const response = await requestToken(server, service)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: 'invalid_scope' })
  })
})

describe('§2 Token response (client credentials grant)', () => {
  test('HTTP 200 with exactly the three headers', async () => {
    const { status, headers } = await server.request('/token/', tokenRequest())
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/json')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('pragma')).toBe('no-cache')
  })

  test('its four fields and no others', async () => {
    const body = await (await server.request('/token/', tokenRequest())).json()
    expect(body).toEqual({
      token_type: 'Bearer',
      access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      expires_in: 3600,
      scope: 'read_books write_books',
    })
  })
})
