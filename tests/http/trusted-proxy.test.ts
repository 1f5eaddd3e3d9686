/** Whom an app trusts as its proxy, however it says so. */
import { request as send } from 'node:http'
import { text } from 'node:stream/consumers'
import { fastify, type FastifyServerOptions } from 'fastify'
import { expect, test } from 'vitest'
import { isFromTrustedProxy } from '../../src/http/trusted-proxy.ts'
import { atEndOfFile } from '../support/cleanup.ts'

const PROXY = '127.0.0.2'

/** What is said of a request that comes from this address, in such an app. */
async function judge(
  trustProxy: FastifyServerOptions['trustProxy'],
  localAddress: string,
  forwarded?: string,
): Promise<unknown> {
  const app = fastify(trustProxy === undefined ? {} : { trustProxy })
  atEndOfFile(async () => app.close())
  app.get('/', async (request) => [isFromTrustedProxy(request), request.ip])
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  const answer = await new Promise<string>((resolve, reject) => {
    send({ host: '127.0.0.1', port, localAddress, headers, agent: false }, (response) => {
      text(response).then(resolve, reject)
    })
      .on('error', reject)
      .end()
  })
  return JSON.parse(answer)
}

type Trusted = FastifyServerOptions['trustProxy']

test.each<[string, Trusted]>([
  ['a list', [PROXY]],
  ['a network', '127.0.0.2/31'],
  ['IPv4 addresses in IPv6', ['::ffff:127.0.0.2']],
  ['a function', (address: string) => address === PROXY],
])('by %s', async (_by, given) => {
  expect(await judge(given, PROXY)).toEqual([true, PROXY])
  expect(await judge(given, PROXY, '198.51.100.7')).toEqual([true, '198.51.100.7'])
  expect(await judge(given, PROXY, `198.51.100.7, ${PROXY}`)).toEqual([true, '198.51.100.7'])
  for (const forwarded of [undefined, PROXY, `${PROXY}, ${PROXY}`, '192.0.2.1, 192.0.2.2'])
    expect(await judge(given, '127.0.0.1', forwarded)).toEqual([false, '127.0.0.1'])
})

test.each<[string, Trusted]>([
  ['nobody', undefined],
  ['nobody, said', false],
  ['everybody', true],
  ['every network', ['0.0.0.0/1', '128.0.0.0/1']],
])('nobody is a proxy where %s is trusted', async (_whom, trusted) => {
  for (const forwarded of [undefined, '198.51.100.7'])
    for (const address of [PROXY, '127.0.0.1'])
      expect(await judge(trusted, address, forwarded)).toHaveProperty('0', false)
})
