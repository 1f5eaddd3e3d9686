/**
 * A second factor: codes of an authenticator app, and recovery codes. Asked of who has set one up, of the roles of OIDC_SECOND_FACTOR_ROLES, and
 * where an app or a request demands `acr` 2 (`login/asked-acr.ts`); who must show one and has none sets it up on the way.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { User } from '../../src/doors/user.ts'
import { isOurs } from '../../src/services/users/ourselves.ts'
import { addAccountPages, type FactorPart, type RecoveryCodesPage } from './account-pages.ts'
import { createAskingStep, type FactorPage } from './asking-step.ts'
import { createFactors, SHOWN } from './factors.ts'
import { createSetupStep, type SetupCodesPage, type FactorSetupPage } from './setup-step.ts'
import type { TotpForm } from './totp-form.ts'

declare module '../pages/models.ts' {
  interface Pages {
    factor: FactorPage
    'factor-totp': TotpForm
    'factor-codes': { codes: readonly string[] }
    'factor-setup': FactorSetupPage
    'factor-setup-codes': SetupCodesPage
    'account-security-factor': FactorPart
    'account-authenticator': { totp: TotpForm; securityUri: string }
    'account-recovery-codes': RecoveryCodesPage
  }
}

const REQUIRED = { acr: [SHOWN.acr] } as const
const ON_THE_WAY = ['factor', 'factor-setup', 'factor-setup-codes'] as const
const PARTS = ['factor-totp', 'factor-codes'] as const
const OF_THE_ACCOUNT = ['account-security-factor', 'account-authenticator', 'account-recovery-codes'] as const

async function secondFactor(fastify: FastifyInstance): Promise<void> {
  const { oauth, pages } = fastify
  const inDirectory = (name: string): URL => new URL(`../../templates/${name}.eta`, import.meta.url)
  for (const name of ON_THE_WAY) await pages.add(name, inDirectory(name), { kind: 'interaction' })
  for (const name of [...PARTS, ...OF_THE_ACCOUNT]) await pages.add(name, inDirectory(name))
  for (const file of ['codes.js', 'factor.css'])
    await pages.addAsset(file, new URL(`../../templates/assets/${file}`, import.meta.url))

  const factors = createFactors(fastify)
  const roles = new Set(factors.kernel.config.OIDC_SECOND_FACTOR_ROLES)

  // From memory: it is asked at each page.
  async function hasOne({ id }: User): Promise<typeof REQUIRED | null> {
    return (await factors.authenticators.has(id)) ? REQUIRED : null
  }

  oauth.add('assurance', {
    name: 'factor',
    require({ user, request }) {
      // What is required for pages of ours is required of every session.
      if (!isOurs(request)) return null
      return user.roles.some((role) => roles.has(role)) ? REQUIRED : hasOne(user)
    },
  })
  oauth.add('interactionStep', createAskingStep(factors))
  oauth.add('interactionStep', createSetupStep(factors))
  if (fastify.hasDecorator('account')) addAccountPages(factors)
}

export default fp(secondFactor, {
  name: 'latchkey-second-factor',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-interaction', 'latchkey-pages'],
})
