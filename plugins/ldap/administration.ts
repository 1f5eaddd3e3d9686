/** Who a user is in the directory, on their page in the administration: whoever changes them there sees what is changed back. */
import type { FastifyInstance } from 'fastify'
import type { LdapConfig } from '../../src/settings/ldap.ts'
import { isLeft, linkOfUser, type Links } from './links.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'admin-user-ldap': UserInDirectory
  }
}

export interface UserInDirectory {
  /** At the last look. */
  dn: string
  since: Date
  /** The directory, and nobody here since, has disabled them. */
  gone: boolean
  /** Those that its groups give and take. */
  roles: readonly string[]
}

const PART = 'admin-user-ldap'

export async function addAdministration(
  { admin, pages }: FastifyInstance,
  config: LdapConfig,
  links: Links,
): Promise<void> {
  await pages.add(PART, new URL('../../templates/admin-user-ldap.eta', import.meta.url))
  admin.addUserPart({
    name: 'ldap',
    part: PART,
    async model(user): Promise<UserInDirectory | null> {
      const record = await linkOfUser(links, user.id)
      if (record === null) return null
      const { value, createdAt } = record
      const roles = [...new Set(config.roles.map(({ role }) => role))]
      return { dn: value.dn, since: new Date(createdAt), gone: isLeft(user, record), roles }
    },
  })
}
