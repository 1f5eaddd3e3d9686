/** Parameters by which clients say what they would like: none of them may be in the way. */
import { expect } from 'vitest'
import { createUserAgent, findForm, type Page } from '../../support/user-agent.ts'
import type { Check, Checks } from '../plan.ts'
import { addressOf, authenticate, authenticationRequest, errorIn } from '../relying-party.ts'
import { PERSON, type Suite } from '../suite.ts'

async function loginPage(suite: Suite, parameters: Record<string, string>): Promise<Page> {
  const request = authenticationRequest(suite, parameters)
  return createUserAgent(suite.server.url).get(addressOf(suite, request))
}

/** Each of them gives the login page, and tokens after it. */
function accepts(...variants: Record<string, string>[]): Check {
  return async (suite) => {
    for (const parameters of variants) {
      expect(findForm(await loginPage(suite, parameters), 'login')).toBeDefined()
      const { callback } = await authenticate(suite, parameters)
      expect(callback.has('error')).toBe(false)
    }
  }
}

export const hints = {
  'oidcc-display-page': accepts({ display: 'page' }),
  'oidcc-display-popup': accepts({ display: 'popup' }, { display: 'hologram' }),
  'oidcc-ui-locales': accepts({ ui_locales: 'se' }, { ui_locales: 'zz-not-a-locale  de' }),
  'oidcc-claims-locales': accepts({ claims_locales: 'se' }, { claims_locales: 'fr-CA fr en' }),

  'oidcc-login-hint': async (suite) => {
    const hint = `buffy@${new URL(suite.server.url).hostname}`
    await accepts({ login_hint: hint })(suite)
    const page = await loginPage(suite, { login_hint: hint })
    expect(findForm(page, 'login')!.fields).toMatchObject({ username: hint, password: '' })
    const hostile = await loginPage(suite, { login_hint: '"><script>alert(1)</script>' })
    expect(hostile.body).not.toContain('<script>alert')
  },

  'oidcc-ensure-request-with-acr-values-succeeds': async (suite) => {
    const advertised = suite.metadata['acr_values_supported'] as string[]
    const { claims, agent } = await authenticate(suite, { acr_values: advertised.join(' ') })
    expect(advertised).toContain(claims.acr)
    // OpenID Connect Core §3.1.2.1: these are a wish.
    const other = await authenticate(suite, { acr_values: 'urn:example:unheard-of' }, { agent })
    expect(other.claims.acr).toBe(claims.acr)
    // §5.5.1.1: these are none.
    const acr = { essential: true, values: ['urn:example:unheard-of'] }
    const demand = authenticationRequest(suite, { claims: JSON.stringify({ id_token: { acr } }) })
    const refused = await agent.get(addressOf(suite, demand))
    expect(errorIn(suite, refused, demand)).toBe('unmet_authentication_requirements')
    expect(refused.body).not.toContain(PERSON.username)
  },
} satisfies Checks
