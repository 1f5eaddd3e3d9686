/** The listener of METRICS_PORT: one address, `/metrics`, for who is let through to it; it asks nobody who they are. */
import type { ServerResponse } from 'node:http'
import type { Config } from '../config.ts'
import { listenOn } from './listen-on.ts'

export interface MetricsListener {
  close(): void
}

/**
 * Listens where METRICS_PORT and METRICS_HOST say, if they do; `read` gives the text at each request. Throws
 * `ConfigError` where it cannot listen.
 */
export async function listenForMetrics(
  { METRICS_HOST: host, METRICS_PORT: port }: Config,
  read: () => Promise<string>,
): Promise<MetricsListener | undefined> {
  if (port === undefined) return undefined
  // Whoever imports it loads Node's own fetch along, of 800 kB.
  const { createServer } = await import('node:http')
  const server = createServer((request, response) => {
    const [path] = (request.url ?? '').split('?')
    if (path !== '/metrics') return answer(response, 404, 'There is only /metrics here.\n')
    if (request.method !== 'GET') return answer(response, 405, 'Only GET is served here.\n', { allow: 'GET' })
    read().then(
      (text) => answer(response, 200, text),
      () => answer(response, 503, 'The metrics could not be read.\n'),
    )
  })
  await listenOn(server, 'METRICS_PORT', port, host)
  return {
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function answer(response: ServerResponse, status: number, text: string, headers = {}): void {
  response
    .writeHead(status, {
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      'cache-control': 'no-store',
      ...headers,
    })
    .end(text)
}
