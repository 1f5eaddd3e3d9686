/** The deletion that a user has asked for, in the interface of the administration: it can be cancelled until it is due. */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { notFound } from '../programs/refusals.ts'

export function addOperations(fastify: FastifyInstance): void {
  const { adminApi } = fastify
  const { accountDeletions } = kernelOf(fastify)
  adminApi.serve({
    method: 'DELETE',
    path: '/users/:sub/deletion',
    name: 'cancelDeletion',
    summary: 'Cancels the deletion that a user has asked for; they may sign in again',
    scope: 'latchkey:users:write',
    answer: { status: 204 },
    async handle(_query, call) {
      const { id } = await adminApi.findUserToChange(call)
      if (!(await accountDeletions.cancel(id))) throw notFound('deletion that this user has asked for')
    },
  })
}
