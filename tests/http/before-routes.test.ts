import { fastify } from 'fastify'
import { expect, test } from 'vitest'
import { beforeRoutes, passive } from '../../src/http/before-routes.ts'

test('a hook comes before what routes have of their own, and not at all where nothing is done', async () => {
  const app = fastify({ exposeHeadRoutes: true })
  const passed: string[] = []
  beforeRoutes(app, (request, _reply, done) => {
    passed.push(`${request.method} ${request.url}`)
    done()
  })
  const own = async (): Promise<void> => void passed.push('own')
  await app.register(async (scope) => {
    scope.get('/one', { preValidation: own }, async () => '')
    scope.post('/several', { preValidation: [own, own] }, async () => '')
    scope.get('/none', async () => '')
    scope.get('/passive', { config: { [passive]: true } }, async () => '')
  })
  for (const url of ['/one', '/none', '/passive']) {
    await app.inject({ method: 'GET', url })
    await app.inject({ method: 'HEAD', url })
  }
  await app.inject({ method: 'POST', url: '/several' })
  expect(passed).toEqual([
    'GET /one', 'own', 'HEAD /one', 'own', 'GET /none', 'HEAD /none', 'POST /several', 'own', 'own',
  ]) // prettier-ignore
  await app.close()
})
