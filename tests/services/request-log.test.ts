import { fastify, type FastifyRequest } from 'fastify'
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { loggingOptions } from '../../src/services/log.ts'

async function linesOf(work: (request: FastifyRequest) => Promise<string>): Promise<object[]> {
  const lines: object[] = []
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString()) as object)
      done()
    },
  })
  const app = fastify({ ...loggingOptions('info', stream), genReqId: () => 'the id' })
  app.get('/', { logLevel: 'warn' }, work)
  expect((await app.inject('/')).statusCode).toBe(200)
  await app.close()
  return lines
}

test('the lines of a request have its id, and the level of its route', async () => {
  const lines = await linesOf(async ({ log }) => {
    log.info('not this one')
    log.warn({ more: 1 }, 'this one')
    log.error(new Error('and this one'))
    return 'done'
  })
  expect(lines).toMatchObject([
    { id: 'the id', level: 'warn', more: 1, msg: 'this one' },
    { id: 'the id', level: 'error', err: { message: 'and this one' } },
  ])
})

test('it has children, and its level can be seen and set', async () => {
  const lines = await linesOf(async ({ log }) => {
    expect(log.level).toBe('warn')
    log.child({ of: 'a child' }).warn('by a child')
    log.level = 'debug'
    log.debug('now this one too')
    return 'done'
  })
  expect(lines).toMatchObject([
    { id: 'the id', of: 'a child', msg: 'by a child' },
    { id: 'the id', level: 'debug', msg: 'now this one too' },
  ])
})
