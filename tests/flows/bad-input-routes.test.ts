/** The catalogue of bad input at every route there is, as somebody who is let in everywhere; the other files tell it apart. */
import { beforeAll, describe, expect, test } from 'vitest'
import { ADMINISTRATION } from '../security/forms.ts'
import { DEVICE_SEED, DEVICE_SETTINGS } from '../support/device.ts'
import { isWhole } from '../support/left-out.ts'
import { sendRaw } from '../support/raw-http.ts'
import { bearer } from '../support/requests.ts'
import { type Route, routesOf } from '../support/routes.ts'
import { startServer } from '../support/server.ts'
import { getTokens } from '../support/sign-in.ts'

const server = await startServer({ ...DEVICE_SETTINGS, OIDC_CIBA: true }, { seed: DEVICE_SEED })
const routes = routesOf(server.server).map(({ url, methods }): Route => ({
  url: url.replaceAll(/:[a-z]+/g, 'x') || '/',
  methods,
}))
const FORM = 'application/x-www-form-urlencoded'
/** They answer the same whatever is asked: there is no query to be wrong. */
const READS_NO_QUERY = /^\/(?:healthz|readyz|jwks\/?|assets\/.*|\.well-known\/.*)?$/
/** There is an administrator already, and no client has such a colour. */
const REFUSED_BEFORE = /^\/(?:setup\/?|assets\/client\/x)$/
const MALFORMED = [
  'a=%00',
  '%00=a',
  'a=%ff%fe',
  'a=%c0%af',
  'a=%ed%a0%80',
  'a=%',
  'a=%u0041',
  'a=1&a=2',
  '__proto__=1&__proto__=2',
  'a=b&'.repeat(300),
]
const headers: Record<string, string> = { accept: 'text/html' }
const served = (method: string): Route[] => routes.filter(({ methods }) => methods.includes(method))
/** Those that take forms, and do not only refuse the method. */
const takers: string[] = []

beforeAll(async () => {
  const { agent } = await ADMINISTRATION['new client'].open(server)
  headers['cookie'] = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
  headers['origin'] = server.url
  Object.assign(headers, bearer((await getTokens(server)).access_token))
  // One after another: who waits too long for the database gets 503.
  for (const { url } of served('POST')) {
    const { status, headers: told } = await server.request(url, { method: 'PUT', headers })
    const allow = told.get('allow')
    if (allow === null) throw new Error(`${url} answers ${status} and does not say which methods are served`)
    if (allow.split(', ').includes('POST')) takers.push(url)
  }
})

const post = async (url: string, body: string | Uint8Array<ArrayBuffer>, type = FORM): Promise<Response> =>
  server.request(url, { method: 'POST', body, headers: { ...headers, 'content-type': type } })

test('there are routes to be asked about', () => {
  expect(served('GET').length).toBeGreaterThan(isWhole ? 100 : 80)
  expect(takers.length).toBeGreaterThan(isWhole ? 60 : 40)
})

describe.each(MALFORMED.map((text) => [text.slice(0, 30), text] as const))('%s', (_name, text) => {
  test('in the query is 400 wherever one is read', async () => {
    for (const { url } of served('GET')) {
      const { status } = await server.get(`${url}?${text}`, headers)
      const expected = REFUSED_BEFORE.test(url) ? [404] : READS_NO_QUERY.test(url) ? [200, 303] : [400, 405]
      expect([url, status]).toEqual([url, expect.toBeOneOf(expected)])
    }
  })

  test('in a form is 400', async () => {
    for (const url of takers) expect([url, (await post(url, text)).status]).toEqual([url, 400])
  })
})

test('what is no form in UTF-8 is 415, whatever it says', async () => {
  const types = [
    'text/plain',
    'application/json',
    'application/json\t',
    'multipart/form-data; boundary=a',
    `${FORM}; charset=utf-16`,
    `${FORM}x`,
    ';',
  ]
  for (const url of takers)
    for (const type of types)
      expect([url, type, (await post(url, '{}', type)).status]).toEqual([url, type, 415])
})

test('a body that is too large is 413, and raw bytes that are not UTF-8 are 400', async () => {
  for (const url of takers) {
    expect([url, (await post(url, `a=${'x'.repeat(70_000)}`)).status]).toEqual([url, 413])
    expect([url, (await post(url, new Uint8Array([0x61, 0x3d, 0xff, 0xfe]))).status]).toEqual([url, 400])
  }
})

test('a method that is not served is 405 and says which are; one in a header counts for nothing', async () => {
  for (const { url } of routes)
    for (const method of ['PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
      const response = await server.request(url, {
        method,
        headers: { ...headers, 'x-http-method-override': 'GET' },
      })
      const allow = response.headers.get('allow')?.split(', ') ?? []
      expect([url, method, response.status, allow.length > 0]).toEqual([url, method, 405, true])
      expect(allow).not.toContain(method)
    }
})

test('an address with anything behind a route is nothing, or refused', async () => {
  for (const { url } of routes)
    for (const more of ['%00', '%ff', '%', '%2f..%2f', ';a=b', '.json', 'x'.repeat(600)]) {
      const { status } = await server.get(url + more, headers)
      expect([url, more, status]).toEqual([url, more, expect.toBeOneOf([400, 404, 405, 414])])
    }
})

test('a long address, and headers that do not fit, are refused by the parser', async () => {
  for (const { url } of routes) {
    const long = `GET ${url}?${'a'.repeat(17_000)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`
    const cookies = `GET ${url} HTTP/1.1\r\nHost: a\r\nCookie: ${'a=b; '.repeat(4000)}\r\nConnection: close\r\n\r\n`
    for (const bytes of [long, cookies])
      expect([url, (await sendRaw(server.url, bytes)).status]).toEqual([url, 431])
  }
})

test('none of this was a fault of ours', () => {
  expect(server.output()).not.toMatch(/"level":"(?:error|fatal)"/)
})
