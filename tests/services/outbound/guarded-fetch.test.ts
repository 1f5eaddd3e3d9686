/** The way out, against real sockets: 127.0.0.2 stands for the internet, 127.0.0.1 for what nobody may reach. */
import type { FastifyRequest } from 'fastify'
import type { ServerResponse } from 'node:http'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { expect, test, vi } from 'vitest'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { OutboundError } from '../../../src/doors/outbound.ts'
import { runAs } from '../../../src/services/audit/origin.ts'
import { createGuardedFetch, type GuardedFetchOptions } from '../../../src/services/outbound/guarded-fetch.ts'
import { createCertificate } from '../../support/deployed.ts'
import { type Received, startReceiver } from '../../support/receiver.ts'

const certificate = await createCertificate('app.test', 'other.test', 'inner.test')
const PUBLIC = '127.0.0.2'
const ADDRESSES = { 'app.test': [PUBLIC], 'other.test': [PUBLIC], 'inner.test': ['127.0.0.1'] }

const NO_NAME = Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })

/** A host of the internet, and the way to it. */
async function host(
  answer: (request: Received, response: ServerResponse) => unknown,
  options: Partial<GuardedFetchOptions> = {},
) {
  const receiver = await startReceiver(answer, { certificate, host: PUBLIC })
  const resolve = vi.fn<(name: string) => Promise<readonly string[]>>(
    async (name) => ADDRESSES[name as keyof typeof ADDRESSES] ?? Promise.reject(NO_NAME),
  )
  const isPublic = (address: string) => address === PUBLIC
  const fetch = createGuardedFetch({ unsafeOrigins: [], resolve, isPublic, ...options })
  return { ...receiver, resolve, fetch, url: `https://app.test:${receiver.port}/` }
}

/** What must not be reached. */
const inner = await startReceiver((_request, response) => response.end('secret'), { certificate })

async function failure(asking: Promise<unknown>): Promise<OutboundError> {
  const error = await asking.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof OutboundError)) throw new Error(`not an OutboundError: ${String(error)}`)
  return error
}

const reasonOf = async (asking: Promise<unknown>): Promise<string> => (await failure(asking)).reason
const hello = (_request: Received, response: ServerResponse) => response.end('hello')

test('an https address of the internet is asked by its name, at the address that was resolved', async () => {
  const { fetch, url, received, resolve, port } = await host(hello)
  const response = await fetch(`${url}keys?a=b#c`)
  expect([response.status, await response.text()]).toEqual([200, 'hello'])
  expect(received).toMatchObject([
    { method: 'GET', url: '/keys?a=b', servername: 'app.test', headers: { host: `app.test:${port}` } },
  ])
  expect(resolve).toHaveBeenCalledOnce()
})

test('C2: a name is resolved once: what it says the second time is not connected to', async () => {
  const { fetch, url, resolve } = await host(hello)
  resolve.mockResolvedValueOnce([PUBLIC]).mockResolvedValue(['127.0.0.1'])
  expect(await (await fetch(url)).text()).toBe('hello')
  expect(resolve).toHaveBeenCalledOnce()
  const reached = inner.connections()
  expect(await reasonOf(fetch(`${url}again`))).toMatch('not of the public internet')
  expect(inner.connections()).toBe(reached)
})

test('of several addresses only public ones are connected to', async () => {
  const { fetch, url, resolve, received } = await host(hello)
  resolve.mockResolvedValue(['127.0.0.1', '10.0.0.1', PUBLIC, '::1'])
  expect((await fetch(url)).status).toBe(200)
  expect(received).toHaveLength(1)
})

test.each([
  ['this machine', `https://127.0.0.1:${inner.port}/`],
  ['this machine by a number', `https://2130706433:${inner.port}/`],
  ['this machine in octal and hexadecimal', `https://0177.0.0x1:${inner.port}/`],
  ['this machine by IPv6', `https://[::1]:${inner.port}/`],
  ['this machine, mapped', `https://[::ffff:127.0.0.1]:${inner.port}/`],
  ['what is nothing', `https://0.0.0.0:${inner.port}/`],
  ["a cloud's metadata", 'https://169.254.169.254/latest/meta-data/'],
  ['a name that leads to this machine', `https://inner.test:${inner.port}/`],
])('%s is refused, and nothing is connected to', async (_what, address) => {
  const reached = inner.connections()
  const resolve = async () => ['127.0.0.1']
  const fetch = createGuardedFetch({ unsafeOrigins: [], resolve })
  expect(await reasonOf(fetch(address))).toMatch('not of the public internet')
  expect(inner.connections()).toBe(reached)
})

test.each([
  ['http', 'http://app.test/', 'not https'],
  ['a file', 'file:///etc/passwd', 'not https'],
  ['data', 'data:text/plain,hello', 'not https'],
  ['credentials', 'https://user:secret@app.test/', 'credentials'],
  ['no URL', 'app.test', 'no URL'],
])('%s: refused', async (_what, address, reason) => {
  const { fetch } = await host(hello)
  expect(await reasonOf(fetch(address))).toMatch(reason)
})

test('an origin that the operator named may be private and plain, at its port alone', async () => {
  const plain = await startReceiver(hello)
  const origin = `http://127.0.0.1:${plain.port}`
  const fetch = createGuardedFetch({ unsafeOrigins: [origin] })
  expect(await (await fetch(`${origin}/keys`)).text()).toBe('hello')
  expect(await reasonOf(fetch(`http://127.0.0.1:${inner.port}/there`))).toBe(
    `the address is not https; UNSAFE_OUTBOUND_ORIGINS=http://127.0.0.1:${inner.port} lets it be asked`,
  )
  expect(await reasonOf(fetch('file:///etc/passwd'))).toBe('the address is not https')
  expect(await reasonOf(fetch(`https://127.0.0.1:${plain.port}/`))).toMatch('not of the public internet')
})

test('a certificate of another name is refused', async () => {
  const { fetch, port, resolve } = await host(hello)
  resolve.mockResolvedValue([PUBLIC])
  expect(await reasonOf(fetch(`https://elsewhere.test:${port}/`))).toBe(
    'no answer came (ERR_TLS_CERT_ALTNAME_INVALID)',
  )
})

test('a redirect is an answer, unless redirects are asked for', async () => {
  const { fetch, url } = await host((request, response) =>
    request.url === '/' ? response.writeHead(302, { location: '/there' }).end() : response.end('there'),
  )
  const response = await fetch(url)
  expect([response.status, response.headers.get('location')]).toEqual([302, '/there'])
  expect(await (await fetch(url, { redirects: 1 })).text()).toBe('there')
})

test.each([
  ['this machine', `https://127.0.0.1:${inner.port}/`, 'not of the public internet'],
  ['a name that leads to this machine', `https://inner.test:${inner.port}/`, 'not of the public internet'],
  ['plain http', 'http://app.test/', 'not https'],
  ['a file', 'file:///etc/passwd', 'not https'],
  ['what is no URL', 'https://', 'no URL'],
])('a redirect to %s is not followed', async (_what, location, reason) => {
  const reached = inner.connections()
  const { fetch, url } = await host((_request, response) => response.writeHead(302, { location }).end())
  expect(await reasonOf(fetch(url, { redirects: 3 }))).toMatch(reason)
  expect(inner.connections()).toBe(reached)
})

test('redirects are followed as often as asked, and no oftener than five times', async () => {
  const { fetch, url, received } = await host(({ url: path }, response) =>
    response.writeHead(302, { location: `/${Number(path.slice(1)) + 1}` }).end(),
  )
  expect(await reasonOf(fetch(`${url}1`, { redirects: 2 }))).toBe('it redirects too often')
  expect(received).toHaveLength(3)
  expect(await reasonOf(fetch(`${url}10`, { redirects: 100 }))).toBe('it redirects too often')
  expect(received).toHaveLength(3 + 6)
})

test('what proves who asks does not go along to another origin', async () => {
  const { fetch, url, received, port } = await host((request, response) =>
    request.url === '/' ? response.writeHead(307, { location: `https://other.test:${port}/x` }).end() : response.end(),
  ) // prettier-ignore
  await fetch(url, { redirects: 1, headers: { authorization: 'Bearer secret', accept: 'text/plain' } })
  expect(received.map(({ headers }) => [headers.authorization, headers.accept])).toEqual([
    ['Bearer secret', 'text/plain'],
    [undefined, 'text/plain'],
  ])
})

test('a body that trickles is given up after the limit, headers that never come too', async () => {
  const { fetch, url } = await host(
    (request, response) => {
      if (request.url !== '/body') return
      response.write('a')
      const timer = setInterval(() => response.write('a'), 20)
      response.on('close', () => clearInterval(timer))
    },
    { limit: 300 },
  )
  expect(await reasonOf(fetch(`${url}body`))).toBe('no whole answer came in time')
  expect(await reasonOf(fetch(`${url}headers`))).toBe('no whole answer came in time')
})

test('all redirects share one limit', async () => {
  const { fetch, url } = await host(
    (_request, response) => setTimeout(() => response.writeHead(302, { location: '/on' }).end(), 150),
    { limit: 400 },
  )
  expect(await reasonOf(fetch(url, { redirects: 5 }))).toBe('no whole answer came in time')
})

test.each([
  ['in one piece', Buffer.alloc(65_537), {}],
  ['as a gzip bomb', gzipSync(Buffer.alloc(50_000_000)), { 'content-encoding': 'gzip' }],
  ['as a Brotli bomb', brotliCompressSync(Buffer.alloc(50_000_000)), { 'content-encoding': 'br' }],
  ['gzipped twice', gzipSync(gzipSync(Buffer.alloc(100_000_000))), { 'content-encoding': 'gzip, gzip' }],
])('a body of more than 64 KiB is refused: %s', async (_what, body, headers) => {
  const { fetch, url } = await host((_request, response) => response.writeHead(200, headers).end(body))
  const before = process.memoryUsage().arrayBuffers
  expect(await reasonOf(fetch(url))).toBe('the answer has more than 65536 bytes')
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20_000_000)
})

test('a body of 64 KiB comes whole, decompressed', async () => {
  const { fetch, url } = await host((_request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(65_536))),
  )
  const response = await fetch(url)
  expect(await response.text()).toBe('x'.repeat(65_536))
  expect(response.headers.get('content-encoding')).toBeNull()
})

test('who asks for more gets it, up to 1 MiB, each an answer of their own', async () => {
  const { fetch, url, received } = await host(({ url: path }, response) =>
    response.end(Buffer.alloc(Number(path.slice(1)))),
  )
  const size = async (bytes: number, maxBytes: number) =>
    (await (await fetch(`${url}${bytes}`, { maxBytes })).arrayBuffer()).byteLength
  expect([await size(100_000, 100_000), await size(100_000, 200_000)]).toEqual([100_000, 100_000])
  expect(received).toHaveLength(2)
  expect(await reasonOf(size(100_001, 100_000))).toBe('the answer has more than 100000 bytes')
  expect(await reasonOf(size(1_048_577, 10_000_000))).toBe('the answer has more than 1048576 bytes')
})

test('an answer whose status HTTP does not know is none', async () => {
  const { fetch, url } = await host((_request, response) => response.writeHead(999).end('odd'))
  expect(await reasonOf(fetch(url))).toBe('it answers 999')
})

test('a POST carries its body, and is asked each time', async () => {
  const { fetch, url, received } = await host((_request, response) => response.writeHead(204).end())
  const body = new URLSearchParams({ logout_token: 'jwt' })
  for (let n = 0; n < 2; n++) expect((await fetch(url, { method: 'POST', body })).status).toBe(204)
  expect(received.map((one) => [one.method, one.body, one.headers['content-type']])).toEqual(
    Array.from({ length: 2 }, () => [
      'POST',
      'logout_token=jwt',
      'application/x-www-form-urlencoded;charset=UTF-8',
    ]),
  )
  await expect(fetch(url, { method: 'POST', redirects: 1 })).rejects.toThrow(TypeError)
})

test('what went wrong is told to nobody: the same words for every reason', async () => {
  const { fetch } = await host(hello)
  const closed = await startReceiver(hello, { host: PUBLIC })
  await closed.close()
  const errors = await Promise.all([
    failure(fetch('https://127.0.0.1/')),
    failure(fetch('https://nowhere.test/')),
    failure(fetch(`https://app.test:${closed.port}/`)),
    failure(fetch('file:///etc/passwd')),
  ])
  expect(new Set(errors.map((error) => JSON.stringify([error.status, error]))).size).toBe(1)
  expect(errors.every((error) => error instanceof OAuthError && error.status === 400)).toBe(true)
  expect(new Set(errors.map(({ reason }) => reason)).size).toBe(4)
})

test('to one origin ten requests are under way at once, and the others are refused', async () => {
  const waiting: ServerResponse[] = []
  const { fetch, url } = await host((_request, response) => waiting.push(response))
  const asked = Array.from({ length: 10 }, (_, n) => fetch(`${url}${n}`))
  await expect.poll(() => waiting.length).toBe(10)
  expect(await reasonOf(fetch(`${url}one-more`))).toBe('too many requests are under way')
  for (const response of waiting) response.end()
  await Promise.all(asked)
  waiting.length = 0
  // The host did not fail: it is asked at once for what was refused.
  const later = fetch(`${url}one-more`)
  await expect.poll(() => waiting.length).toBe(1)
  waiting[0]!.end()
  expect((await later).status).toBe(200)
})

test('who can bring us to ask, by anybody’s request, has a tenth of the places from one network, a fifth from its neighbourhood, half of them from all, and half of those at one origin', async () => {
  const names = Array.from({ length: 12 }, (_, n) => `app-${n}.test`)
  const waiting: ServerResponse[] = []
  const receiver = await startReceiver((_request, response) => waiting.push(response), {
    certificate: await createCertificate(...names),
    host: PUBLIC,
  })
  const isPublic = (address: string) => address === PUBLIC
  const fetch = createGuardedFetch({ unsafeOrigins: [], resolve: async () => [PUBLIC], isPublic })
  let asked = 0
  const ask = (name: string, byAnybody = true) => fetch(`https://${name}:${receiver.port}/${asked++}`, { byAnybody })
  const from = <T>(ip: string, work: () => T): T => runAs({ ip, id: '1', actor: null } as FastifyRequest, work)
  const refusal = 'too many requests are under way'
  const going: Promise<Response>[] = []
  for (let n = 0; n < 5; n++) {
    const many = Array.from({ length: 10 }, (_, at) => names[n * 2 + (at % 2)]!)
    // Two of one neighbourhood each.
    const network = n % 2 === 0 ? `2001:db8:0:${n}00::1` : `2001:db8:0:${n - 1}ff::1`
    going.push(...from(network, () => many.map((name) => ask(name))))
    await expect.poll(() => waiting.length).toBe(10 * (n + 1))
    expect(await reasonOf(from(network, () => ask(names[11]!)))).toBe(refusal)
    // One more of the first neighbourhood, and anybody at an origin that has what it may.
    const others = [['2001:db8:0:ab::1', 11], ['192.0.2.9', 0]] as const
    for (const [other, at] of n === 1 ? others : []) expect(await reasonOf(from(other, () => ask(names[at]!)))).toBe(refusal)
  }
  expect(await reasonOf(from('192.0.2.9', () => ask(names[11]!)))).toBe(refusal)
  expect(await reasonOf(ask(names[11]!))).toBe(refusal)
  // What is asked for another reason goes on, also by their requests.
  going.push(from('2001:db8:0:0::1', () => ask(names[0]!, false)))
  await expect.poll(() => waiting.length).toBe(51)
  for (const response of waiting) response.end()
  await Promise.all(going)
  const later = from('2001:db8:0:0::1', () => ask(names[0]!))
  await expect.poll(() => waiting.length).toBe(52)
  waiting.at(-1)!.end()
  expect((await later).status).toBe(200)
}) // prettier-ignore
