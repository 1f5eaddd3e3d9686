/** An authenticator app, as people have it: the codes of a secret. */
import { Secret, TOTP } from 'otpauth'
import { findForm, type Page, type UserAgent } from './user-agent.ts'

/**
 * The code `steps` of thirty seconds from now. Whoever types it may be a step later by then, and one step is forgiven: where
 * two are needed, the first is of now and the second of the step after, never of the one before and of now.
 */
export function codeOf(secret: string, steps = 0): string {
  const timestamp = Date.now() + steps * 30_000
  return TOTP.generate({
    secret: Secret.fromBase32(secret),
    algorithm: 'SHA1',
    digits: 6,
    period: 30,
    timestamp,
  })
}

/** Of the page that shows it. */
export function secretOn({ body }: Pick<Page, 'body'>): string {
  const [, groups] = /<code id="totp-secret">((?:<span>[A-Z2-7]{4}<\/span>)+)<\/code>/.exec(body) ?? []
  const secret = groups?.replaceAll(/<\/?span>/g, '')
  if (secret === undefined) throw new Error(`no secret: ${body}`)
  return secret
}

/** The recovery codes of the page. */
export function recoveryCodesOn({ body }: Pick<Page, 'body'>): string[] {
  const [, list = ''] = /<ul id="recovery-codes">([\s\S]*?)<\/ul>/.exec(body) ?? []
  return [...list.matchAll(/<code>([^<]+)<\/code>/g)].map(([, code]) => code!)
}

export interface SetUp {
  secret: string
  codes: string[]
}

/** By the account, whose user is signed in with `agent`. The code of the step before now is used then. */
export async function setUpFactor(agent: UserAgent, url: string): Promise<SetUp> {
  const page = await agent.get(`${url}/account/security/authenticator`)
  const secret = secretOn(page)
  const give = async (asked: Page) => agent.submit(asked, 'totp', { code: codeOf(secret, -1) })
  let shown = await give(page)
  // A step has ended on the way, and then the code was two steps old.
  if (shown.status === 403) shown = await give(shown)
  const codes = recoveryCodesOn(shown)
  if (codes.length === 0) throw new Error(`not set up: ${shown.status} ${shown.body}`)
  return { secret, codes }
}

/** Whether the page asks for the factor. */
export function asksForFactor(page: Page): boolean {
  return findForm(page, 'second-factor') !== undefined
}
