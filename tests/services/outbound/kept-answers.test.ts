/** What is kept of answers, against a real host and by a clock that the test turns. */
import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import type { OutboundRequest } from '../../../src/doors/outbound.ts'
import { createGuardedFetch } from '../../../src/services/outbound/guarded-fetch.ts'
import { type Received, startReceiver } from '../../support/receiver.ts'

/** A host that answers as `headers` say, with the number of the answer as its body. */
async function counter(answer: (request: Received, response: ServerResponse, n: number) => unknown) {
  let [n, time] = [0, Date.now()]
  const receiver = await startReceiver((request, response) => answer(request, response, ++n))
  const origin = `http://127.0.0.1:${receiver.port}`
  const fetch = createGuardedFetch({ unsafeOrigins: [origin], now: () => time })
  return {
    ...receiver,
    get: async (path = '/', maxAge?: number) =>
      (await fetch(`${origin}${path}`, maxAge === undefined ? {} : { maxAge })).text(),
    fetch: async (request: OutboundRequest = {}) => fetch(`${origin}/`, request),
    /** Seconds. */
    wait: (seconds: number) => (time += seconds * 1000),
  }
}

const saying = (headers: Record<string, string>) =>
  counter((_request, response, n) => response.writeHead(200, headers).end(String(n)))

test.each([
  ['nothing', {}, 600],
  ['max-age', { 'cache-control': 'public, max-age=120' }, 120],
  ['max-age and the time on the way', { 'cache-control': 'max-age=120', age: '60' }, 60],
  ['a short max-age: the floor', { 'cache-control': 'max-age=1' }, 30],
  ['no-store: the floor', { 'cache-control': 'no-store' }, 30],
  ['no-cache: the floor', { 'cache-control': 'no-cache, max-age=900' }, 30],
  ['a year: the ceiling', { 'cache-control': 'max-age=31536000' }, 3600],
  ['Expires', { date: 'Mon, 23 Nov 2026 10:00:00 GMT', expires: 'Mon, 23 Nov 2026 10:05:00 GMT' }, 300],
  ['an Expires that is no date', { expires: '0' }, 30],
])('an answer that says %s is kept so long', async (_what, headers, seconds) => {
  const { get, wait } = await saying(headers)
  expect(await get()).toBe('1')
  wait(seconds - 1)
  expect(await get()).toBe('1')
  wait(1)
  expect(await get()).toBe('2')
})

test('who wants it younger gets it, but not within half a minute', async () => {
  const { get, wait } = await saying({ 'cache-control': 'max-age=3600' })
  await get()
  wait(29)
  expect(await get('/', 0)).toBe('1')
  wait(1)
  expect(await get('/', 60)).toBe('1')
  expect(await get('/', 0)).toBe('2')
  expect(await get()).toBe('2')
})

test.each([
  ['ETag', { etag: '"one"' }, 'if-none-match', '"one"'],
  ['Last-Modified', { 'last-modified': 'Mon, 23 Nov 2026 10:00:00 GMT' }, 'if-modified-since', 'Mon, 23 Nov 2026 10:00:00 GMT'],
] as const)('it is confirmed by its %s, and lives on', async (_what, headers, condition, value) => {
  const { get, wait, received, fetch } = await counter((request, response, n) =>
    request.headers[condition] === value
      ? response.writeHead(304, { 'cache-control': 'max-age=60' }).end()
      : response.writeHead(200, { ...headers, 'cache-control': 'max-age=40' }).end(String(n)),
  )
  await get()
  wait(40)
  expect(await get()).toBe('1')
  wait(59)
  expect(await get()).toBe('1')
  expect(received).toHaveLength(2)
  expect((await fetch()).status).toBe(200)
}) // prettier-ignore

test('many at once share one request, and each gets an answer of its own', async () => {
  const { fetch, received } = await saying({})
  const answers = await Promise.all(Array.from({ length: 50 }, async () => fetch()))
  expect(new Set(await Promise.all(answers.map(async (one) => one.text())))).toEqual(new Set(['1']))
  expect(received).toHaveLength(1)
})

test('a failure is remembered for seconds, and many at once share it', async () => {
  const { get, wait, received } = await counter((_request, response, n) =>
    n === 1 ? response.destroy() : response.end(String(n)),
  )
  const all = await Promise.allSettled(Array.from({ length: 20 }, async () => get()))
  expect(all.every(({ status }) => status === 'rejected')).toBe(true)
  wait(4)
  await expect(get()).rejects.toThrow('could not be fetched')
  expect(received).toHaveLength(1)
  wait(1)
  expect(await get()).toBe('2')
})

test('while its host fails, what was fetched serves on for an hour at most', async () => {
  const { get, wait, received } = await counter((_request, response, n) => {
    if (n === 1) response.writeHead(200, { 'cache-control': 'max-age=60' }).end('1')
    else if (n === 2) response.writeHead(503).end('away')
    else response.destroy()
  })
  await get()
  wait(60)
  expect(await get()).toBe('1')
  expect(await get()).toBe('1')
  expect(received).toHaveLength(2)
  wait(1800)
  expect(await get()).toBe('1')
  wait(1800)
  await expect(get()).rejects.toThrow('could not be fetched')
})

test('who wants no old one is told of the failure, also while others ask at the same moment', async () => {
  const { get, wait, fetch, received } = await counter((_request, response, n) =>
    n === 1 ? response.writeHead(200, { 'cache-control': 'max-age=60' }).end('1') : response.destroy(),
  )
  await get()
  wait(60)
  const told = await Promise.allSettled([get(), fetch({ staleIfError: false }), get()])
  expect(told.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  await expect(fetch({ staleIfError: false })).rejects.toThrow('could not be fetched')
  expect([await get(), received.length]).toEqual(['1', 2])
})

test('what must not be used when it is old is not', async () => {
  const { get, wait } = await counter((_request, response, n) =>
    n === 1 ? response.writeHead(200, { 'cache-control': 'max-age=60, must-revalidate' }).end() : response.destroy(),
  ) // prettier-ignore
  await get()
  wait(60)
  await expect(get()).rejects.toThrow('could not be fetched')
})

test.each([403, 404, 410, 429])('a %i is believed for half a minute, whatever it says of itself', async (status) => {
  const { fetch, wait } = await counter((_request, response, n) =>
    response.writeHead(n === 1 ? status : 200, { 'cache-control': 'max-age=3600' }).end(),
  )
  expect((await fetch()).status).toBe(status)
  wait(29)
  expect((await fetch()).status).toBe(status)
  wait(1)
  expect((await fetch()).status).toBe(200)
}) // prettier-ignore

test('what is not there is remembered for half a minute, a failure of the host for seconds', async () => {
  const { fetch, wait, received } = await counter((_request, response, n) =>
    response.writeHead(n === 1 ? 404 : 500).end(),
  )
  for (let n = 0; n < 2; n++) expect((await fetch()).status).toBe(404)
  wait(3600)
  expect((await fetch()).status).toBe(500)
  await expect(fetch()).rejects.toThrow('could not be fetched')
  expect(received).toHaveLength(2)
})

test.each([
  ['bodies', 160, {}, 'x'.repeat(60_000)],
  ['headers', 640, { 'x-long': 'x'.repeat(15_000) }, ''],
])('it fills no memory with %s: what was used longest ago goes', async (_what, most, headers, body) => {
  const { get, received } = await counter((_request, response) =>
    response.writeHead(200, { 'cache-control': 'max-age=3600', ...headers }).end(body),
  )
  for (let n = 0; n < most; n++) await get(`/${n}`)
  for (const [path, asked] of [
    [`/${most - 1}`, most],
    ['/0', most + 1],
  ] as const) {
    await get(path)
    expect(received).toHaveLength(asked)
  }
})
