/** Who a user is in the directory, on their page in the administration: whoever changes them there sees what is changed back. */
import type { FastifyInstance } from 'fastify'
import type { LdapConfig } from '../../src/settings/ldap.ts'
import type { AdminArea } from '../admin/sections.ts'
import type { FormTarget } from '../pages/models.ts'
import { isLeft, linkOfUser, type Links } from './links.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'admin-user-ldap': UserInDirectory
  }
}

export interface UserInDirectory {
  userId: string
  /** At the last look. */
  dn: string
  since: Date
  /** Where the directory, and nobody here since, has disabled them; null elsewhere. Whom somebody here disables stays so when they are back. */
  disable: FormTarget | null
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
  const area: AdminArea = admin.addUserPart({
    name: 'ldap',
    part: PART,
    async model(user, call): Promise<UserInDirectory | null> {
      const record = await linkOfUser(links, user.id)
      if (record === null) return null
      const { value, createdAt } = record
      const roles = [...new Set(config.roles.map(({ role }) => role))]
      const disable = isLeft(user, record) ? area.target(call, '/user/disable', user.id) : null
      return { userId: user.id, dn: value.dn, since: new Date(createdAt), disable, roles }
    },
  })
}
