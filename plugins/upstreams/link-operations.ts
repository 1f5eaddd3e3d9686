/** The sign-ins of upstreams that are linked with a user, in the interface of the administration. */
import { Type } from '../../src/protocol/schema.ts'
import { Instant, instant } from '../admin-api/instants.ts'
import { notFound } from '../programs/refusals.ts'
import type { AdminApi } from '../admin-api/operations.ts'
import type { LinkedSignIns } from './links.ts'

const LinkSchema = Type.Object(
  {
    id: Type.String(),
    upstream: Type.String(),
    issuer: Type.String(),
    subject: Type.String({ description: 'By which the upstream knows them.' }),
    name: Type.Optional(Type.String({ description: 'What the upstream called them when it was linked.' })),
    created_at: Instant(),
  },
  { title: 'LinkedSignIn' },
)

export function addLinkOperations(api: AdminApi, links: LinkedSignIns): void {
  api.serve({
    method: 'GET',
    path: '/users/:sub/linked-sign-ins',
    name: 'listLinkedSignIns',
    summary: 'The sign-ins of upstreams that are linked with a user',
    scope: 'latchkey:users:read',
    answer: { status: 200, schema: Type.Object({ linked_sign_ins: Type.Array(LinkSchema) }) },
    async handle(_query, call) {
      const known = await links.list((await api.findUser(call)).id)
      return {
        linked_sign_ins: known.map(({ id, createdAt, value: { upstream, issuer, subject, name } }) => ({
          id,
          upstream,
          issuer,
          subject,
          ...(name === null ? {} : { name }),
          created_at: instant(createdAt),
        })),
      }
    },
  })
  api.serve({
    method: 'DELETE',
    path: '/users/:sub/linked-sign-ins/:id',
    name: 'unlinkSignIn',
    summary: 'Unlinks a sign-in of an upstream from a user, who must have another way to sign in',
    scope: 'latchkey:users:write',
    answer: { status: 204 },
    async handle(_query, call) {
      const user = await api.findUserToChange(call)
      if (!(await links.unlink(user.id, call.path['id'] ?? ''))) throw notFound('linked sign-in of this user')
    },
  })
}
