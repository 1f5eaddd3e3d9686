/** Under which `sub` a client knows a user: the owner of the client's `subject_type` says it. */
import type { Client } from '../../doors/client.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { DoorRegistry } from '../../doors/registry.ts'

/** Stable for ever. Throws when nothing serves the client's `subject_type`: no client falls back to another. */
export type SubjectOf = (userId: string, client: Client) => string

export function createSubjects(doors: DoorRegistry): SubjectOf {
  return (userId, client) => {
    const type = client.metadata['subject_type'] as string | undefined
    if (type === undefined) return userId
    const owner = doors.owners('subjectType').get(type)
    if (owner === undefined)
      throw new OAuthError('unauthorized_client', 'nothing serves the subject_type of the client')
    return owner.subject(userId, client)
  }
}
