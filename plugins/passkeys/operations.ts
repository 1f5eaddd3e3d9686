/** The passkeys of a user in the interface of the administration: for who has lost the device. */
import { Type } from '../../src/protocol/schema.ts'
import { Instant, instant } from '../admin-api/instants.ts'
import { notFound } from '../programs/refusals.ts'
import type { AdminApi } from '../admin-api/operations.ts'
import type { Passkeys } from './passkeys.ts'

const PasskeySchema = Type.Object(
  {
    id: Type.String(),
    name: Type.String({ description: 'What its user calls it.' }),
    created_at: Instant(),
    last_used_at: Type.Optional(Instant()),
    synced: Type.Boolean({ description: 'Whether it is on more than one device.' }),
  },
  { title: 'Passkey' },
)

export function addOperations(api: AdminApi, passkeys: Passkeys): void {
  api.serve({
    method: 'GET',
    path: '/users/:sub/passkeys',
    name: 'listPasskeys',
    summary: 'The passkeys of a user',
    scope: 'latchkey:users:read',
    answer: { status: 200, schema: Type.Object({ passkeys: Type.Array(PasskeySchema) }) },
    async handle(_query, call) {
      const known = await passkeys.list((await api.findUser(call)).id)
      return {
        passkeys: known.map(({ id, createdAt, value: { name, usedAt, synced } }) => ({
          id,
          name,
          created_at: instant(createdAt),
          ...(usedAt === null ? {} : { last_used_at: instant(usedAt) }),
          synced,
        })),
      }
    },
  })
  api.serve({
    method: 'DELETE',
    path: '/users/:sub/passkeys/:id',
    name: 'deletePasskey',
    summary: 'Deletes a passkey of a user, who must have another way to sign in',
    scope: 'latchkey:users:write',
    answer: { status: 204 },
    async handle(_query, call) {
      const user = await api.findUserToChange(call)
      if (!(await passkeys.remove(user.id, call.path['id'] ?? ''))) throw notFound('passkey of this user')
    },
  })
}
