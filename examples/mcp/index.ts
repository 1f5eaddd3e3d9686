/**
 * A plugin of the standalone server that makes it an MCP server too: `/mcp` is a resource with scopes of its own, guarded by
 * `@latchkey/require-scope` as one on another machine would be. What a call needs follows from the tool that it calls.
 */
import requireScope, { dpop } from '@latchkey/require-scope'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { createNotesServer, SCOPES_OF_TOOLS } from './notes.ts'

const PATH = '/mcp'
/** For all that calls no tool. */
const USUAL = ['notes:read']
const SCOPES = [
  { name: 'notes:read', description: 'Read your notes' },
  { name: 'notes:write', description: 'Add to your notes' },
]

export default async function mcp(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const resource = `${oauth.issuer}${PATH}`

  fastify.addHook('onReady', async () => {
    await oauth.resources.saveResource({ resource, name: 'Notes' })
    for (const scope of SCOPES) await oauth.resources.saveScope({ ...scope, resource })
  })

  await fastify.register(async (app) => {
    await app.register(requireScope, {
      issuer: oauth.issuer,
      resource,
      // Where its metadata is: at the root, also where the issuer has a path.
      root: oauth.root,
      metadata: { resource_name: 'Notes', scopes_supported: USUAL },
      implies: { 'notes:write': ['notes:read'] },
      unguarded: 'deny',
      // Tokens of clients that bind them to a key; others come as they are.
      senderConstraints: [dpop({ origin: new URL(oauth.issuer).origin })],
      // It listens when the first token comes.
      keys: { prefetch: 'lazy' },
    })
    const usual = app.requireScope(...USUAL)
    const guards = new Map(
      Object.entries(SCOPES_OF_TOOLS).map(([tool, scopes]) => [tool, app.requireScope(...scopes)] as const),
    )
    /** Nobody's body is read before there is a good token; then the tool has its say. */
    app.post(
      PATH,
      {
        onRequest: usual,
        async preHandler(request, reply) {
          for (const tool of toolsOf(request)) {
            await guards.get(tool)?.(request, reply)
            if (reply.sent) return
          }
        },
      },
      async (request, reply) => {
        reply.hijack()
        const server = createNotesServer(request.token.subject)
        const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
        reply.raw.on('close', () => void server.close())
        await server.connect(transport)
        await transport.handleRequest(request.raw, reply.raw, request.body)
      },
    )
    // It has no stream of its own, and no session to end.
    for (const method of ['GET', 'DELETE'] as const)
      app.route({
        method,
        url: PATH,
        onRequest: usual,
        handler: async (_request, reply) => reply.code(405).header('allow', 'POST').send(),
      })
  })
}

/** Those that it calls; clients of earlier revisions send many calls in one body. */
function toolsOf({ body }: FastifyRequest): string[] {
  const calls = [body].flat() as ({ method?: unknown; params?: { name?: unknown } } | null)[]
  return calls.flatMap((call) => (call?.method === 'tools/call' ? [String(call.params?.name)] : []))
}
