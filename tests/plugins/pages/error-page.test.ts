/** Errors as pages: for people first, with what the developer needs, and the same id in page, header and log. */
import { fastify as bareServer, type FastifyInstance } from 'fastify'
import { expect, test } from 'vitest'
import { sendErrorPage, showError } from '../../../plugins/pages/error-page.ts'
import { sendError } from '../../../src/http/errors.ts'
import notFound from '../../../plugins/not-found.ts'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { startPages } from './server.ts'

const back = (uri: string) => ({ uri, text: 'Go back', app: null })
const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const server = await startPages({}, async (fastify) => {
  await fastify.register(async (scope: FastifyInstance) => {
    scope.setErrorHandler(sendErrorPage)
    scope.get('/refused', async () => {
      throw new OAuthError('slow_down', 'too many <tries>', { status: 429, retryAfter: 30 })
    })
    scope.get('/fault', async () => {
      throw new Error('a secret of ours')
    })
    scope.post('/form', async () => 'never')
    scope.get('/told', async (_request, reply) => {
      const detail = [{ name: 'redirect_uri', value: 'https://prints.example/x' }]
      const error = new OAuthError('invalid_request', 'the redirect_uri is not registered')
      return showError(error, reply, { detail, ways: [back('https://prints.example/')] })
    })
    scope.get('/incomplete', async (_request, reply) => reply.page('signed-out', {} as never))
  })
  await fastify.register(async (scope: FastifyInstance) => {
    scope.setErrorHandler((error: OAuthError, _request, reply) =>
      showError(error, reply, { ways: [back('javascript:alert(1)')] }),
    )
    scope.get('/unshowable', async () => {
      throw new OAuthError('invalid_request', 'no')
    })
  })
})

/** What stands in the element with this id, as a source. */
const element = (html: string, id: string): string | undefined =>
  new RegExp(`id="${id}"[^>]*>([^<]*)`).exec(html)?.[1]

test('a refusal keeps its status and headers, and says its code', async () => {
  const response = await server.get('/refused')
  const html = await response.text()
  expect(response.status).toBe(429)
  expect(response.headers.get('retry-after')).toBe('30')
  expect(html).toContain('<div id="error">')
  expect(element(html, 'error-code')).toBe('slow_down')
  expect(html).toContain('too many &lt;tries&gt;')
  expect(html).toMatch(/<title>Error: Too many tries/)
})

test('a fault tells nothing but its id, which the header and the log share', async () => {
  const response = await server.get('/fault')
  const html = await response.text()
  const id = response.headers.get('x-request-id')!
  expect(response.status).toBe(500)
  expect(element(html, 'error-code')).toBe('server_error')
  expect(html).toContain(`<code>${id}</code>`)
  expect(html).not.toContain('secret of ours')
  const line = server
    .output()
    .split('\n')
    .find((one) => one.includes(id) && one.includes('request failed'))
  expect(line).toContain('secret of ours')
})

test('a page that lacks a value becomes the error page', async () => {
  const response = await server.get('/incomplete')
  expect(response.status).toBe(500)
  expect(element(await response.text(), 'error-code')).toBe('server_error')
})

test('an error page that cannot be shown is an error in JSON', async () => {
  const response = await server.get('/unshowable')
  expect(response.status).toBe(500)
  expect(await response.json()).toMatchObject({ error: 'server_error' })
})

test('details, and the way back where there is one; else the start page', async () => {
  const told = await (await server.get('/told')).text()
  expect(told).toContain('<code dir="ltr">https://prints.example/x</code>')
  expect(told).toContain('<a class="button primary" href="https://prints.example/">')
  expect(await (await server.get('/fault')).text()).toContain('<a class="button primary" href="/">')
})

test('what Fastify refuses is a page too', async () => {
  const response = await server.request('/form', {
    method: 'POST',
    headers: { 'content-type': 'application/x-unknown' },
    body: 'x',
  })
  expect(response.status).toBe(415)
  expect(element(await response.text(), 'error-code')).toBe('invalid_request')
})

test('where there is nothing, browsers get the page and programs JSON', async () => {
  const page = await server.get('/nothing', browser)
  expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
  expect(element(await page.text(), 'error-code')).toBe('not_found')
  const json = await server.get('/nothing')
  expect([json.status, json.headers.get('content-type')]).toEqual([404, 'application/json'])
  const method = await server.request('/form', { method: 'DELETE', headers: browser })
  expect([method.status, method.headers.get('allow')]).toEqual([405, 'POST'])
  expect(element(await method.text(), 'error-code')).toBe('invalid_request')
})

test('a server without pages says it in JSON to all', async () => {
  const bare = bareServer()
  bare.setErrorHandler(sendError)
  await bare.register(notFound)
  const { statusCode, headers } = await bare.inject({ url: '/nothing', headers: browser })
  expect([statusCode, headers['content-type']]).toEqual([404, 'application/json'])
})
