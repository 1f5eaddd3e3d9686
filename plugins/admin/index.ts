/**
 * The administration, at `/admin`: pages for those who have the role `admin`. They use the services that the command
 * line uses; what each page does is in the file named after it, who may come here is for `guard.ts` to say.
 */
import { message, type Words } from '../../src/protocol/message.ts'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { ConfigError } from '../../src/config.ts'
import { addLink } from '../pages/areas.ts'
import { createServePage } from '../pages/serve.ts'
import { addAuditExport } from './audit/audit-export.ts'
import { addAuditList } from './audit/audit-list.ts'
import { addClientAuthorizations } from './clients/client-authorizations.ts'
import { addClientEnd } from './clients/client-end.ts'
import { addClientList } from './clients/client-list.ts'
import { addNewClient } from './clients/client-new.ts'
import { addClientPage } from './clients/client-page.ts'
import { addClientSecret } from './clients/client-secret.ts'
import { addDashboard } from './dashboard.ts'
import { addDeliveryPages } from './delivery-pages.ts'
import { createArea } from './area.ts'
import { createGuard } from './guard.ts'
import { followWrites } from './own-writes.ts'
import type { AdminArea, AdminGroup } from './sections.ts'
import { assertNewUserWay, assertSection, assertUserPart } from './shapes.ts'
import { addKeyPages } from './key-pages.ts'
import { addKeyRevocation } from './key-revocation.ts'
import { addRoles, ROLE_TEMPLATES } from './roles/roles.ts'
import { addResourcePages } from './scopes-and-resources/resource-pages.ts'
import { addScopePages } from './scopes-and-resources/scope-pages.ts'
import { createShownOnce } from '../pages/shown-once.ts'
import { addTrustedIssuerPages } from './trusted-issuers/trusted-issuer-pages.ts'
import { addUsers, USER_TEMPLATES } from './users/users.ts'

const TEMPLATES = [
  'admin-clients',
  'admin-client',
  'admin-client-authorizations',
  'admin-client-new',
  'admin-client-secret',
  'admin-audit',
  'admin-behind',
  'admin-breaks',
  'admin-dashboard',
  'admin-deliveries',
  'admin-field',
  'admin-fields',
  'admin-keys',
  'admin-party',
  'admin-key-revoke',
  'admin-not-there',
  'admin-record',
  'admin-records',
  'copy-script',
  ...USER_TEMPLATES,
  ...ROLE_TEMPLATES,
] as const

const GROUPS: Readonly<Record<AdminGroup, Words>> = {
  apps: message('Apps'),
  people: message('People'),
  server: message('Server'),
}

/** In the order in which they stand on each page; `here` of a template's `title` is one of these names. */
const SECTIONS: readonly (readonly [text: Words, path: string, group?: AdminGroup])[] = [
  [message('Dashboard'), '/admin'],
  [message('Clients'), '/admin/clients', 'apps'],
  [message('Scopes and resources'), '/admin/scopes', 'apps'],
  [message('Trusted issuers'), '/admin/trusted-issuers', 'apps'],
  [message('Users'), '/admin/users', 'people'],
  [message('Roles'), '/admin/roles', 'people'],
  [message('Keys'), '/admin/keys', 'server'],
  [message('Audit log'), '/admin/audit', 'server'],
  [message('Deliveries'), '/admin/deliveries', 'server'],
]

async function admin(fastify: FastifyInstance): Promise<void> {
  const { basePath } = fastify.oauth.config
  const links = SECTIONS.map(([text, path, group]) => ({
    text,
    href: `${basePath}${path}`,
    group: group === undefined ? null : GROUPS[group],
  }))
  fastify.pages.addArea('admin', { label: message('Administration'), links })
  for (const name of TEMPLATES)
    await fastify.pages.add(name, new URL(`../../templates/${name}.eta`, import.meta.url))

  await fastify.register(async (scope) => {
    const guard = createGuard(scope)
    scope.addHook('onRequest', guard.admit)
    scope.addHook('preHandler', async (request, reply) => {
      if (request.body !== undefined) await guard.admit(request, reply)
    })
    followWrites(scope)
    const area = createArea(scope, guard, await createServePage(scope))
    const { serve, administratorOf, uri, userUri, target, assertGenuine, signInAgain } = area
    const open: AdminArea = { serve, administratorOf, uri, userUri, target, assertGenuine, signInAgain }
    const { doors } = area.kernel
    fastify.decorate('admin', {
      addSection(section) {
        assertSection(section)
        const { text, path, group = 'server' } = section
        doors.assertOpen(`The section ${path} of the administration`)
        addLink(links, { text, href: uri(path), group: GROUPS[group] })
        return open
      },
      addUserPart(part) {
        assertUserPart(part)
        doors.assertOpen(`The part ${part.name} of the page of a user`)
        if (area.userParts.some(({ name }) => name === part.name))
          throw new ConfigError(`The part ${part.name} of the page of a user is taken.`)
        area.userParts.push(part)
        return open
      },
      addNewUserWay(way) {
        assertNewUserWay(way)
        doors.assertOpen(`The way ${way.id} for new users`)
        if (area.newUserWays.some(({ id }) => id === way.id))
          throw new ConfigError(`The way ${way.id} for new users is taken.`)
        area.newUserWays.push(way)
        return open
      },
    })
    const shownOnce = createShownOnce(area.kernel, 'admin-shown-once')
    addDashboard(area)
    addClientList(area)
    addNewClient(area, shownOnce)
    addClientPage(area)
    addClientSecret(area, shownOnce)
    addClientAuthorizations(area)
    addClientEnd(area)
    addUsers(area)
    addRoles(area)
    addScopePages(area)
    addResourcePages(area)
    addTrustedIssuerPages(area)
    addKeyPages(area)
    addKeyRevocation(area)
    addDeliveryPages(area)
    addAuditList(area)
    addAuditExport(area)
  })
}

export default fp(admin, {
  name: 'latchkey-admin',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-pages', 'latchkey-sign-in'],
})
