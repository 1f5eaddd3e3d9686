import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'
import formbody from '@fastify/formbody'
import { expect, test } from 'vitest'
import { bearer, challenge, startApp, startIssuer } from './support.ts'

const form = { 'content-type': 'application/x-www-form-urlencoded' }

async function addForms(app: FastifyInstance): Promise<void> {
  await app.register(formbody)
  app.get('/any', { onRequest: app.requireScope() }, async () => ({ fine: true }))
  app.post('/before', { preHandler: app.requireScope() }, async () => ({ fine: true }))
  app.post('/early', { onRequest: app.requireScope() }, async () => ({ fine: true }))
}

test('the Bearer scheme is read in any case and with any number of spaces', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url })
  const token = await issuer.token()
  for (const authorization of [
    `Bearer ${token}`,
    `bearer ${token}`,
    `BEARER   ${token}`,
    `Bearer ${token} `,
  ]) {
    expect((await app.inject({ url: '/any', headers: { authorization } })).statusCode).toBe(200)
  }
})

test('another scheme, or an empty header, is the same as no token', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url })
  for (const authorization of ['', 'Basic dTpw', 'DPoP abc', 'Bearerabc', 'Token abc']) {
    const response = await app.inject({ url: '/any', headers: { authorization } })
    expect([authorization, response.statusCode]).toEqual([authorization, 401])
    expect(challenge(response.headers['www-authenticate'])).not.toHaveProperty('error')
    expect(response.json()).toEqual({ error_description: 'An access token is required' })
  }
})

test('Bearer without a token is invalid_request, and a malformed token is invalid_token', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url })
  for (const credentials of ['', ' ', ' a b', ' "abc"', ' a,b', ' a:b', ' =', ' a=b', ' tök', ' a;b']) {
    const response = await app.inject({ url: '/any', headers: { authorization: `Bearer${credentials}` } })
    const [status, error] = credentials.trim() === '' ? [400, 'invalid_request'] : [401, 'invalid_token']
    expect([credentials, response.statusCode]).toEqual([credentials, status])
    expect(response.json().error).toBe(error)
    expect(challenge(response.headers['www-authenticate'])['error']).toBe(error)
  }
})

test('a repeated Authorization header is invalid_request, although Node shows only the first', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  const token = await issuer.token()
  const headers = `Authorization: Bearer ${token}\r\nAUTHORIZATION: Bearer ${token}\r\n`
  socket.end(`GET /any HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers}\r\n`)
  const answer = await text(socket)
  expect(answer).toContain('HTTP/1.1 400')
  expect(answer).toContain('The Authorization header is repeated')
})

test('a form body carries a token for a preHandler, and for nothing before it', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url }, addForms)
  const payload = new URLSearchParams({ access_token: await issuer.token(), other: '1' }).toString()
  const post = (url: string, headers: Record<string, string>): Promise<{ statusCode: number }> =>
    app.inject({ method: 'POST', url, headers, payload })
  expect((await post('/before', form)).statusCode).toBe(200)
  expect(
    (await post('/before', { 'content-type': 'Application/X-WWW-Form-Urlencoded;charset=UTF-8' })).statusCode,
  ).toBe(200)
  expect((await post('/early', form)).statusCode).toBe(401)
})

test('a token in a JSON body is none, and an empty parameter is absent', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url }, addForms)
  const json = { access_token: await issuer.token() }
  expect((await app.inject({ method: 'POST', url: '/before', payload: json })).statusCode).toBe(401)
  const empty = await app.inject({ method: 'POST', url: '/before', headers: form, payload: 'access_token=' })
  expect(empty.statusCode).toBe(401)
  expect(empty.json()).not.toHaveProperty('error')
})

test('a query parameter counts only when the option says so', async () => {
  const issuer = await startIssuer()
  const url = `/any?access_token=${await issuer.token()}`
  const strict = await startApp({ issuer: issuer.url })
  expect((await strict.inject(url)).statusCode).toBe(401)
  const lax = await startApp({ issuer: issuer.url, queryParameter: true })
  const response = await lax.inject(url)
  expect(response.statusCode).toBe(200)
  expect(response.headers['cache-control']).toBe('private')
  expect((await lax.inject('/any?access_token=')).statusCode).toBe(401)
})

test('two tokens at once are invalid_request, a query parameter that is not read included', async () => {
  const issuer = await startIssuer()
  const token = await issuer.token()
  for (const queryParameter of [true, false]) {
    const app = await startApp({ issuer: issuer.url, queryParameter }, addForms)
    const payload = `access_token=${token}`
    const inHeader = bearer(token)
    const answers = await Promise.all([
      app.inject({ url: `/any?access_token=${token}`, headers: inHeader }),
      app.inject({ method: 'POST', url: '/before', headers: { ...form, ...inHeader }, payload }),
      app.inject({ method: 'POST', url: `/before?access_token=${token}`, headers: form, payload }),
      app.inject({ method: 'POST', url: '/before', headers: form, payload: `${payload}&${payload}` }),
      app.inject({ url: '/any?access_token=a&access_token=b', headers: inHeader }),
    ])
    for (const answer of answers) {
      expect(answer.statusCode).toBe(400)
      expect(answer.json().error).toBe('invalid_request')
    }
  }
  const app = await startApp({ issuer: issuer.url, queryParameter: true })
  expect((await app.inject('/any?access_token=a&access_token=b')).statusCode).toBe(400)
})
