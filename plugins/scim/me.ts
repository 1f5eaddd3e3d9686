/** `/Me` (RFC 7644 §3.11): the user whom a token is of, at the address of theirs. A token that a client got for itself is of nobody. */
import type { Answer } from '../../src/doors/answer.ts'
import type { BearerCall } from '../../src/doors/endpoint.ts'
import type { ProgramAccess } from '../programs/access.ts'
import { notFound } from '../programs/refusals.ts'
import type { ScimOperation } from './serving.ts'

const ONE = '/Users/:id'

/** What `users` does to one, done to them; `base` is the address of all that SCIM has here. */
export function operationsOfMe(
  users: readonly ScimOperation[],
  base: string,
  { administratorOf }: Pick<ProgramAccess, 'administratorOf'>,
): readonly ScimOperation[] {
  return users
    .filter(({ path }) => path === ONE)
    .map((operation) => ({
      ...operation,
      path: '/Me',
      async handle(call: BearerCall): Promise<Answer> {
        const id = administratorOf(call.token)
        if (id === null) throw notFound('user of this token, which a client got for itself,')
        const answer = await operation.handle({ ...call, path: { id } })
        return { ...answer, headers: { ...answer.headers, 'content-location': `${base}/Users/${id}` } }
      },
    }))
}
