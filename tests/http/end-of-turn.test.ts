/** Answers that are ready in one turn of the event loop leave one after the other, at its end or when they are enough. */
import { fastify, type FastifyReply } from 'fastify'
import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { sending, sendText } from '../../src/http/ready-text.ts'
import { sendAtEndOfTurn } from '../../src/http/end-of-turn.ts'

/** What `count` answers and the turn itself end in: the order in which it came. */
async function leave(count: number): Promise<string[]> {
  const order: string[] = []
  const reply = { send: (index: number) => order.push(`${index} leaves`) } as unknown as FastifyReply
  const turn = nextTurn().then(() => order.push('next turn'))
  for (let index = 0; index < count; index++) {
    order.push(`${index} ready`)
    sendAtEndOfTurn(reply, index)
    // Another request of the same turn.
    await Promise.resolve()
  }
  order.push('all came')
  await turn
  await nextTurn()
  return order
}

test('a few wait for each other, and no longer than the turn lasts', async () => {
  expect(await leave(2)).toEqual(['0 ready', '1 ready', 'all came', 'next turn', '0 leaves', '1 leaves'])
})

test('one leaves in its turn', async () => {
  expect(await leave(1)).toEqual(['0 ready', 'all came', 'next turn', '0 leaves'])
})

test('of many, the first do not wait for the last', async () => {
  const order = await leave(20)
  const leaving = order.filter((what) => what.endsWith('leaves'))
  expect(leaving).toEqual(Array.from({ length: 20 }, (_, index) => `${index} leaves`))
  expect(order.indexOf('15 leaves')).toBeLessThan(order.indexOf('all came'))
  expect(order.indexOf('16 leaves')).toBeGreaterThan(order.indexOf('all came'))
})

test('where a hook of the app throws, that request fails and those beside it do not', async () => {
  const app = fastify()
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (request.url === '/two' && reply.statusCode === 200) throw new Error('no')
    done()
  })
  app.get('/:which', (request, reply) => sendText(reply, { 'content-type': 'text/x' }, request.url))
  const answers = await Promise.all(['/one', '/two', '/three'].map(async (url) => app.inject(url)))
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 500, 200])
  expect(answers[2]!.headers['content-type']).toBe('text/x')
  await app.close()
})

test('what hooks of the app have kept for a request is there when its answer leaves', async () => {
  const app = fastify()
  const kept = new AsyncLocalStorage<string>()
  const found: (string | undefined)[][] = []
  app.addHook('onRequest', (request, _reply, done) => kept.run(request.url, done))
  app.addHook('onSend', async (request) => void found.push([request.url, kept.getStore()]))
  app.get('/:which', (request, reply) => sendText(reply, {}, request.url))
  const urls = Array.from({ length: 20 }, (_, index) => `/${index}`)
  await Promise.all(urls.map(async (url) => app.inject(url)))
  expect(found).toEqual(urls.map((url) => [url, url]))
  await app.close()
})

test('what work fails with is answered by the error handler, also where it is no Error', async () => {
  const app = fastify()
  app.setErrorHandler((error, _request, reply) => {
    const { message, cause } = error as Error
    return reply.code(503).send(`${message}: ${String(cause)}`)
  })
  const fails = (reason: unknown) =>
    sending(async () => {
      // eslint-disable-next-line no-throw-literal, typescript/only-throw-error
      throw reason
    })
  app.get('/error', fails(new Error('full', { cause: 'much to do' })))
  app.get('/text', fails('a text'))
  const answers = await Promise.all(['/error', '/text'].map(async (url) => app.inject(url)))
  expect(answers.map(({ statusCode, body }) => `${statusCode} ${body}`)).toEqual([
    '503 full: much to do',
    '503 what was thrown is no Error: a text',
  ])
  await app.close()
})
