/** An authenticator of a person at a browser, as Chromium has them for tests. */
import type { CDPSession } from 'playwright-core'
import type { Person } from './people.ts'

export interface Authenticator {
  cdp: CDPSession
  authenticatorId: string
}

/** One that is part of their device, keeps passkeys, and knows their finger. */
export async function giveAuthenticator({ page }: Person): Promise<Authenticator> {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return { cdp, authenticatorId }
}
