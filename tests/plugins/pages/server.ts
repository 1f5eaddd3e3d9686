/** A server with a route of the test's that shows the samples, and takes what their forms send. */
import type { FastifyInstance } from 'fastify'
import { setImmediate } from 'node:timers/promises'
import { type TestServer, startServer } from '../../support/server.ts'
import type { Settings } from '../../support/settings.ts'
import { samples, type Sample } from './samples.ts'

export interface PageServer extends TestServer {
  /** Shows any model as it is, also one that lacks something. */
  show(name: string, model: object): Promise<{ status: number; html: string }>
  /** The address of a sample. */
  address(sample: Pick<Sample, 'name' | 'state'>): string
  /** Bodies that forms have sent, as they came. */
  readonly sent: string[]
}

export async function startPages(
  settings: Settings = {},
  extend: (server: FastifyInstance) => unknown = () => {},
): Promise<PageServer> {
  let shown: { name: string; model: object } | undefined
  const sent: string[] = []
  const server = await startServer(
    { OIDC_SIGN_UP: 'on', OIDC_MAIL_CODE: 'on', ...settings },
    {
      async extend(fastify) {
        await extend(fastify)
        fastify.get('/shown', async (_request, reply) =>
          reply.page(shown!.name as never, shown!.model as never),
        )
        fastify.get<{ Params: Sample }>('/sample/:name/:state', async ({ params }, reply) => {
          const { name, model } = samples.find(
            (one) => one.name === params.name && one.state === params.state,
          )!
          return reply.page(name, model)
        })
        await fastify.register(async (scope) => {
          scope.addContentTypeParser(
            'application/x-www-form-urlencoded',
            { parseAs: 'string' },
            async (_: unknown, body: string) => body,
          )
          scope.post('/answer', async ({ body, hostname, port }, reply) => {
            sent.push(String(body))
            // To another origin, as to a client.
            return reply.redirect(
              `http://${hostname === '127.0.0.1' ? 'localhost' : '127.0.0.1'}:${port}/landed`,
              303,
            )
          })
          scope.get('/landed', async () => 'landed')
        })
      },
    },
  )
  return Object.assign(server, {
    sent,
    address: ({ name, state }: Pick<Sample, 'name' | 'state'>) => `${server.url}/sample/${name}/${state}`,
    async show(name: string, model: object) {
      shown = { name, model }
      // Thousands of them come at no time at all else, which the server would take for too many at once.
      await setImmediate()
      const { statusCode, body } = await server.server.inject('/shown')
      return { status: statusCode, html: body }
    },
  })
}
