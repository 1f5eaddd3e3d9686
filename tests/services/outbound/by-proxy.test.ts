/** The way out by OUTBOUND_PROXY: what it is asked, what it is not, and what becomes of us when it will not. */
import { expect, test, vi } from 'vitest'
import { parseConfig } from '../../../src/config.ts'
import { OutboundError } from '../../../src/doors/outbound.ts'
import { createGuardedFetch, type GuardedFetchOptions } from '../../../src/services/outbound/guarded-fetch.ts'
import { risksAnywhereOf } from '../../../src/words/risks.ts'
import { createCertificate } from '../../support/deployed.ts'
import { startForwardProxy } from '../../support/forward-proxy.ts'
import { startReceiver } from '../../support/receiver.ts'
import { startServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'

const certificate = await createCertificate('app.test', 'localhost')
const app = await startReceiver(
  ({ url }, response) => {
    const [, status, location] = /^\/(\d{3})\/(.*)/.exec(url) ?? []
    if (status === undefined) response.end('hello')
    else response.writeHead(Number(status), { location: decodeURIComponent(location!) }).end()
  },
  { certificate },
)
const url = `https://app.test:${app.port}/`
const resolve = vi.fn<(name: string) => Promise<readonly string[]>>()

const fetchBy = (proxy: string, options: Partial<GuardedFetchOptions> = {}) =>
  createGuardedFetch({ unsafeOrigins: [], resolve, proxy, ...options })

async function reasonOf(asking: Promise<unknown>): Promise<string> {
  const error = await asking.catch((thrown: unknown) => thrown)
  return error instanceof OutboundError ? error.reason : `no OutboundError: ${String(error)}`
}

test('an address is asked by the proxy, which is told its name; TLS is with the host of that name', async () => {
  const proxy = await startForwardProxy()
  const withCredentials = proxy.url.replace('//', '//us:p%40ss@')
  const response = await fetchBy(withCredentials)(url)
  expect([response.status, await response.text()]).toEqual([200, 'hello'])
  expect(proxy.asked).toEqual([
    { to: `app.test:${app.port}`, credentials: `Basic ${Buffer.from('us:p@ss').toString('base64')}` },
  ])
  const [received] = app.received.slice(-1)
  expect(received).toMatchObject({ servername: 'app.test', headers: { host: `app.test:${app.port}` } })
  expect(received!.headers).not.toHaveProperty('proxy-authorization')
  expect(resolve).not.toHaveBeenCalled()
})

test('who has the certificate of another name is not asked', async () => {
  const proxy = await startForwardProxy()
  const before = app.received.length
  expect(await reasonOf(fetchBy(proxy.url)(`https://other.test:${app.port}/`))).toBe(
    'no answer came (ERR_TLS_CERT_ALTNAME_INVALID)',
  )
  expect(app.received).toHaveLength(before)
})

test('a proxy may be asked by https', async () => {
  const proxy = await startForwardProxy(undefined, certificate)
  expect(await (await fetchBy(proxy.url)(url)).text()).toBe('hello')
  expect(proxy.asked).toHaveLength(1)
})

test.each([
  'https://127.0.0.1/',
  'https://10.0.0.5/',
  'https://169.254.169.254/latest/meta-data/',
  'https://[::1]/',
  'https://[::ffff:10.0.0.5]/',
  'https://localhost/',
  'https://api.localhost./',
  'https://printer/',
  'https://printer.local/',
  'https://printer.local../',
  'https://metadata.google.internal/',
  'https://router.home.arpa/',
])('%s is of no public internet, and no proxy is asked for it, at once or by a redirect', async (address) => {
  const proxy = await startForwardProxy()
  const fetch = fetchBy(proxy.url)
  expect(await reasonOf(fetch(address))).toBe('the address is not of the public internet')
  expect(proxy.asked).toEqual([])
  const led = `${url}302/${encodeURIComponent(address)}`
  expect(await reasonOf(fetch(led, { redirects: 1 }))).toBe('the address is not of the public internet')
  expect(proxy.asked).toHaveLength(1)
})

test('what UNSAFE_OUTBOUND_ORIGINS names is asked without it', async () => {
  const proxy = await startForwardProxy()
  const near = `https://localhost:${app.port}`
  expect(await (await fetchBy(proxy.url, { unsafeOrigins: [near] })(near)).text()).toBe('hello')
  expect(proxy.asked).toEqual([])
})

test.each(['403 Forbidden', '407 Proxy Authentication Required', '503 Service Unavailable'])(
  'a proxy that says %s is named in the reason, and not asked again and again',
  async (status) => {
    const proxy = await startForwardProxy(() => status)
    const fetch = fetchBy(proxy.url)
    const said = `the proxy answers ${status.slice(0, 3)}`
    expect(await reasonOf(fetch(url))).toBe(said)
    expect(await reasonOf(fetch(url))).toBe(said)
    expect(await reasonOf(fetch(url, { method: 'POST', body: 'a=b' }))).toBe(said)
    expect(proxy.asked).toHaveLength(2)
  },
)

test('a proxy that is away, or says nothing, holds nobody for longer than a host that does', async () => {
  expect(await reasonOf(fetchBy(`http://127.0.0.1:${await freePort()}`)(url))).toBe(
    'no answer came (ECONNREFUSED)',
  )
  const proxy = await startForwardProxy(() => null)
  expect(await reasonOf(fetchBy(proxy.url, { limit: 300 })(url))).toBe('no whole answer came in time')
  expect(await reasonOf(fetchBy(proxy.url.replace('http', 'https'), { limit: 3000 })(url))).toMatch(
    /^no answer came/,
  )
})

test('a server asks by the proxy of its settings, and says at its start who finds out where names lead', async () => {
  const proxy = await startForwardProxy()
  const { server, output } = await startServer({ OUTBOUND_PROXY: proxy.url.replace('//', '//us:secret@') })
  expect(await (await server.oauth.fetch(url)).text()).toBe('hello')
  expect(proxy.asked).toHaveLength(1)
  expect(output()).not.toContain('secret@')
  const config = parseConfig({ OUTBOUND_PROXY: proxy.url })
  expect(risksAnywhereOf(config)).toEqual([
    expect.stringMatching(/^OUTBOUND_PROXY finds out where names lead/),
  ])
})

test.each([
  'proxy.test:3128',
  'socks5://proxy.test',
  'http://proxy.test/path',
  'http://proxy.test?a',
  'http://',
  'http://us:100%@proxy.test',
])('OUTBOUND_PROXY %j is refused, and not quoted', (address) => {
  const refused =
    /^OUTBOUND_PROXY must be the address of a proxy, such as http:\/\/proxy\.corp\.example:3128, or/
  expect(() => parseConfig({ OUTBOUND_PROXY: address })).toThrow(refused)
})
