/** Under which `sub` a client knows a user: the owner of the client's `subject_type` says it. */
import type { Client } from '../../doors/client.ts'
import type { Granted } from '../../doors/facts.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { DoorRegistry } from '../../doors/registry.ts'

/** Stable for ever. Throws when nothing serves the client's `subject_type`: no client falls back to another. */
export type SubjectOf = (userId: string, client: Client) => string

/** Characters (OpenID Connect Core §2). */
const LONGEST = 255

/**
 * A grant may stand for somebody who is no user here, under whatever it calls them, as far as that can be stored. Throws
 * `invalid_grant`: it may come from what the client sent.
 */
export function assertSubject({ subject, continues }: Granted): void {
  // What goes on was stored.
  if (subject === undefined || continues !== undefined) return
  if (subject.length <= LONGEST && subject.isWellFormed() && !subject.includes('\0')) return
  throw new OAuthError('invalid_grant', 'nobody can be called what the grant calls its subject')
}

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
