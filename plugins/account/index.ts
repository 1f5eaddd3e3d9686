/**
 * The user's own account, at `/account`: what is known of them, who is signed in as them, and which apps have access.
 * What each page does is in the file named after it; who may come here is for `area.ts` to say.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { ConfigError } from '../../src/config.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { message } from '../../src/protocol/message.ts'
import { addLink } from '../pages/areas.ts'
import { createServePage } from '../pages/serve.ts'
import { addActivity } from './activity.ts'
import { addApps } from './apps.ts'
import { createArea, createGuard } from './area.ts'
import { addConfirmEmail } from './confirm-email.ts'
import { addEmail } from './email.ts'
import { addOverview } from './overview.ts'
import { addPassword } from './password.ts'
import { addProfile } from './profile.ts'
import { addSessions } from './sessions.ts'
import type { AccountArea, AccountSection, OverviewNotice } from './sections.ts'
import { addSecurity } from './security.ts'
import { assertNotice, assertSection, assertSecurityPart } from './shapes.ts'
import { addWellKnown } from './well-known.ts'

const TEMPLATES = [
  'account',
  'account-profile',
  'account-email',
  'account-security',
  'account-security-password',
  'account-password',
  'account-sessions',
  'account-apps',
  'account-activity',
] as const
/** As they stand at the top of each page; `here` of a template's `title` is one of these texts. */
const SECTIONS = [
  [message('Overview'), '/account'],
  [message('Profile'), '/account/profile'],
  [message('Security'), '/account/security'],
  [message('Sessions'), '/account/sessions'],
  [message('Apps'), '/account/apps'],
  [message('Activity'), '/account/activity'],
] as const

async function account(fastify: FastifyInstance): Promise<void> {
  const { basePath } = fastify.oauth.config
  const links = SECTIONS.map(([text, path]) => ({ text, href: `${basePath}${path}`, group: null }))
  fastify.pages.addArea('account', { label: message('Your account'), links })
  for (const name of TEMPLATES)
    await fastify.pages.add(name, new URL(`../../templates/${name}.eta`, import.meta.url))

  await addWellKnown(fastify)
  addConfirmEmail(fastify)
  await fastify.register(async (scope) => {
    const guard = createGuard(scope)
    scope.addHook('onRequest', guard.admit)
    scope.addHook('preHandler', guard.admitForm)
    const area = createArea(scope, guard, await createServePage(scope))
    const sections: AccountSection[] = []
    const notices: OverviewNotice[] = []
    const { serve, sessionOf, userOf, uri, target, assertGenuine, signInAgain } = area
    const open: AccountArea = { serve, sessionOf, userOf, uri, target, assertGenuine, signInAgain }
    const addPart = addSecurity(area)
    const { doors } = kernelOf(fastify)
    fastify.decorate('account', {
      addSection(section) {
        assertSection(section)
        doors.assertOpen(`The section ${section.path} of the account`)
        addLink(links, { text: section.text, href: uri(section.path), group: null })
        sections.push(section)
        return open
      },
      addSecurity(part) {
        assertSecurityPart(part)
        doors.assertOpen(`The part ${part.name} of the page of security`)
        addPart(part)
        return open
      },
      addNotice(notice) {
        assertNotice(notice)
        doors.assertOpen(`The notice ${notice.name} of the overview`)
        if (notices.some(({ name }) => name === notice.name))
          throw new ConfigError(`The notice ${notice.name} of the overview is taken.`)
        notices.push(notice)
        return open
      },
    })
    addOverview(area, sections, notices)
    addProfile(area)
    addEmail(area, fastify)
    addPassword(area, scope)
    addSessions(area)
    addApps(area)
    addActivity(area)
  })
}

export default fp(account, {
  name: 'latchkey-account',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-pages', 'latchkey-sign-in'],
})
