/** The members of a user, as somebody gives them. */
import type { FastifyBaseLogger } from 'fastify'
import { parseUserMembers, type UserMembers } from '../../protocol/user-members.ts'

/**
 * Warns of those that nobody knows. Throws `OAuthError` (`invalid_request`) that names the member.
 * @internal
 */
export function readMembers(input: unknown, log: FastifyBaseLogger): UserMembers {
  const members = parseUserMembers(input)
  for (const member of members.unknown)
    log.warn({ user: members.username, member: member.slice(0, 100) }, 'unknown member of a user is ignored')
  return members
}
