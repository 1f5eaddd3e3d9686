/** Whose account somebody of an upstream is: the one link between an issuer's subject and a user of ours. */
import type { FastifyInstance } from 'fastify'
import type { UserRecord, UserRecords } from '../../src/doors/user-records.ts'
import type { NewEvent } from '../../src/events.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { LINK_KIND, linkIdOf, type LinkedSubject } from '../../src/protocol/upstream-link.ts'
import type { UpstreamInformation } from '../../src/services/upstreams/upstream-registry.ts'

/** As it is kept of a user; their export tells all of it. */
export interface Link extends LinkedSubject {
  readonly upstream: string
  /** What the upstream called them when it was linked: for people, who may have two there. */
  readonly name: string | null
}

export type LinkRecord = UserRecord<Link>

/** `fastify.linkedSignIns`: for pages, commands and plugins that list and unlink them. */
export interface LinkedSignIns {
  /** The id of the user with whom the subject of an issuer is linked; null where that is nobody. */
  ownerOf(issuer: string, subject: string): Promise<string | null>
  /** The oldest first. */
  list(userId: string): Promise<LinkRecord[]>
  /** False where there is none of this id. Throws `OAuthError` (`invalid_request`) for the last way in that the user has. */
  unlink(userId: string, id: string): Promise<boolean>
}

export interface Links extends UserRecords<Link>, LinkedSignIns {
  /** Whether it was unlinked from the user, and not linked again by them: then no address links it. */
  wasUnlinked(userId: string, id: string): Promise<boolean>
  /** Forgets that, for who links it by hand. */
  forgetUnlinked(userId: string, id: string): Promise<void>
}

/** Of one user; enough for every provider that a person has. */
export const MOST = 20

export function createLinks(fastify: FastifyInstance): Links {
  const { upstreams } = kernelOf(fastify)
  const records = fastify.oauth.users.records<Link>(LINK_KIND, {
    unique: true,
    most: MOST,
    // Of an upstream that is gone it leads nowhere, until that comes back.
    signsIn: async ({ issuer }) => (await upstreams.all()).some((one) => one.issuer === issuer),
  })
  const unlinked = fastify.oauth.users.records<LinkedSubject>('upstream-unlinked')
  return {
    ...records,
    ownerOf: async (issuer, subject) => records.owner(linkIdOf({ issuer, subject })),
    async unlink(userId, id) {
      const record = await records.get(userId, id)
      if (record === null) return false
      const subject = subjectOf(record.value)
      // Before the link is gone: whoever signs in by it in between would be linked again.
      await unlinked.put(userId, id, subject)
      try {
        return await records.delete(userId, id, linkEvent('user.upstream_unlinked', userId, record.value))
      } catch (error) {
        // Refused, it is linked still. Of all else it is not known, and whoever unlinked it must not come back by an address.
        if (error instanceof OAuthError && error.status < 500) await unlinked.delete(userId, id)
        throw error
      }
    },
    wasUnlinked: async (userId, id) => (await unlinked.get(userId, id)) !== null,
    forgetUnlinked: async (userId, id) => void (await unlinked.delete(userId, id)),
  }
}

/** Without all that is beside it. */
export function subjectOf({ issuer, subject, subjectClaim }: LinkedSubject): LinkedSubject {
  return { issuer, subject, ...(subjectClaim === undefined ? {} : { subjectClaim }) }
}

export function linkOf(
  { id }: UpstreamInformation,
  identity: LinkedSubject,
  claims: Readonly<Record<string, unknown>>,
): Link {
  const named = [claims['email'], claims['preferred_username'], claims['name']]
  const name = named.find((one): one is string => typeof one === 'string') ?? null
  return { upstream: id, ...subjectOf(identity), name }
}

export function linkEvent(
  type: 'user.upstream_linked' | 'user.upstream_unlinked',
  user: string,
  { upstream, issuer }: Link,
): NewEvent {
  return { type, user, details: { upstream, issuer } }
}

/** Of an account that was made by the link. */
export function registrationEvent(user: string, { upstream, issuer }: Link): NewEvent {
  return { type: 'user.upstream_linked', user, details: { upstream, issuer, registered: true } }
}
