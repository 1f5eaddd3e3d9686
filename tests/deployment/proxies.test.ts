/** What the proxies of docs/deploy.md do with requests that fail, before two servers that do as they are told. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { connect, type SecureVersion } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { caddy } from '../support/caddy.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { nginx } from '../support/nginx.ts'
import type { Proxy } from '../support/proxy.ts'
import { requestsTo, type Requests } from '../support/requests.ts'
import { statusOf } from '../support/service.ts'
import { freePort } from '../support/settings.ts'

/** Servers that answer like this, and what goes to them through the proxy. */
async function behind(
  proxy: Proxy,
  ...listeners: [RequestListener, RequestListener]
): Promise<Requests & { port: number; log(): string }> {
  const [port, plain, ...ports] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
  for (const [at, listener] of listeners.entries()) {
    const server = createServer(listener).listen(ports[at], '127.0.0.1')
    await once(server, 'listening')
    atEndOfFile(async () => {
      server.closeAllConnections()
      server.close()
    })
  }
  const log = await proxy.start(port, plain, ports)
  return { ...requestsTo(`https://localhost:${port}`), port, log }
}

const answered: RequestListener = (_request, response) => response.end()

describe.each([nginx, caddy])('behind $name', (proxy) => {
  test.skipIf(proxy.absent)('a POST that was sent is not sent again', async () => {
    const posted: string[] = []
    const cut: RequestListener = (request, response) => {
      if (request.method === 'GET') return response.end()
      posted.push(request.url!)
      return request.socket.destroy()
    }
    const { post } = await behind(proxy, cut, cut)
    for (const path of ['/token', '/revoke', '/token'])
      expect(await statusOf(post(path, { code: 'x' }))).toBe(502)
    expect(posted).toEqual(['/token', '/revoke', '/token'])
  })

  test.skipIf(proxy.absent)('P1: TLS is 1.2 or 1.3, with the ciphers that BCP 195 has', async () => {
    const { port } = await behind(proxy, answered, answered)
    /** With everything that this client could be talked into. */
    const protocolAt = async (version: SecureVersion, ciphers = 'ALL:@SECLEVEL=0') => {
      const range = { minVersion: version, maxVersion: version }
      const socket = connect({
        port,
        host: 'localhost',
        servername: 'localhost',
        rejectUnauthorized: false,
        ciphers,
        ...range,
      })
      try {
        await once(socket, 'secureConnect')
        return socket.getProtocol()
      } catch {
        return null
      } finally {
        socket.destroy()
      }
    }
    expect(await protocolAt('TLSv1.3')).toBe('TLSv1.3')
    expect(await protocolAt('TLSv1.2')).toBe('TLSv1.2')
    expect([await protocolAt('TLSv1'), await protocolAt('TLSv1.1')]).toEqual([null, null])
    for (const weak of ['NULL-SHA256', 'ADH-AES128-SHA256', 'AECDH-NULL-SHA'])
      expect([weak, await protocolAt('TLSv1.2', `${weak}:@SECLEVEL=0`)]).toEqual([weak, null])
  })
})

test.skipIf(caddy.absent)(
  'behind Caddy a POST waits while no process is ready, and is sent once',
  async () => {
    let probes = 0
    /** As many probes later they are ready; Caddy makes one of each server in a second. */
    let readyAt = Infinity
    const posted: string[] = []
    const slow: RequestListener = (request, response) => {
      if (request.url === '/readyz') response.statusCode = ++probes < readyAt ? 503 : 200
      else posted.push(request.url!)
      response.end()
    }
    const { post, log } = await behind(caddy, slow, slow)
    const refusals = () => log().match(/status code out of tolerances/g) ?? []
    await expect.poll(() => refusals().length).toBeGreaterThanOrEqual(2)
    readyAt = probes + 4
    expect(await statusOf(post('/token', { code: 'x' }))).toBe(200)
    expect(probes).toBeGreaterThanOrEqual(readyAt)
    expect(posted).toEqual(['/token'])
  },
)
