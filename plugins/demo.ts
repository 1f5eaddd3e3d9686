/**
 * What a development start serves, so that the first minutes show something: `GET /books`, guarded by the one scope of
 * `src/services/demo-content.ts`, which is registered with everything that may have it.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { DEMO, demoContent, OVERLAP, SCOPE } from '../src/services/demo-content.ts'
import { kernelOf } from '../src/http/kernel-of.ts'
import requireScope, { type RequireScopeHook, type Verifier } from './require-scope/index.ts'
import { createOwnVerifier } from './resource-server.ts'

const BOOKS = [
  { title: 'The Left Hand of Darkness', author: 'Ursula K. Le Guin' },
  { title: 'Solaris', author: 'Stanisław Lem' },
]

async function demo(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const here = fastify.requireScope(SCOPE)
  const elsewhere = await guardWhereScopeLives(fastify)
  const onRequest: RequireScopeHook = async (request, reply) => {
    const { resource } = await oauth.findScope(SCOPE)
    return resource === null ? here(request, reply) : elsewhere(request, reply)
  }
  // An operator's plugin may have its own there, as the README shows.
  if (!fastify.hasRoute({ method: 'GET', url: `${fastify.prefix}/books` }))
    fastify.get('/books', { onRequest }, async () => ({ books: BOOKS }))

  const { seeder, config } = kernelOf(fastify)
  fastify.addHook('onReady', async () => seeder.apply(await demoContent(config.DATA_DIR), OVERLAP))
}

/**
 * For who tries out resources: once the scope belongs to one, its tokens are for that one, and the books follow. An API of
 * your own has one identifier, and is told of a new one in its options.
 */
async function guardWhereScopeLives(fastify: FastifyInstance): Promise<RequireScopeHook> {
  const { oauth } = fastify
  const own = createOwnVerifier(oauth)
  const verifier: Verifier = {
    async verify(token) {
      const verified = await own.verify(token)
      const { resource } = await oauth.findScope(SCOPE)
      const isForBooks = resource !== null && verified.audience.includes(resource)
      return isForBooks ? { ...verified, audience: [...verified.audience, oauth.issuer] } : verified
    },
  }
  let guard: RequireScopeHook | undefined
  await fastify.register(async (scope) => {
    await scope.register(requireScope, { verifier, resource: oauth.issuer, metadata: false })
    guard = scope.requireScope(SCOPE)
  })
  if (guard === undefined) throw new Error('the books are not guarded')
  return guard
}

export default fp(demo, {
  name: DEMO,
  dependencies: ['latchkey-oauth', 'latchkey-resource-server'],
  encapsulate: true,
})
