/** What GitHub does in its own way, as its documentation says: its REST API is its userinfo, and keeps mail addresses at an address of their own. */
import { isObject } from '../../src/protocol/json.ts'
import type { Dialect } from './dialect.ts'

/** Any of which lets the addresses be read. */
const MAIL_SCOPES = ['user:email', 'user']

export const GITHUB_DIALECT: Dialect = {
  accept: 'application/vnd.github+json',
  scope: ['read:user', 'user:email'],
  authenticationMethod: 'client_secret_post',
  subjectClaim: 'id',
  // It asks nobody to sign in anew; the account can be chosen.
  parameters: (asked) => (asked['prompt'] === undefined ? {} : { prompt: 'select_account' }),
  async claims(userinfo, scope, ask, { userinfo_endpoint: user }) {
    const {
      login,
      avatar_url: picture,
      html_url: profile,
      blog: website,
      email: _public,
      ...others
    } = userinfo
    const email = scope.some((one) => MAIL_SCOPES.includes(one))
      ? primaryOf(await ask(`${user}/emails?per_page=100`))
      : undefined
    return {
      ...others,
      login,
      preferred_username: login,
      picture,
      profile,
      website,
      ...(email === undefined ? {} : { email, email_verified: true }),
    }
  },
}

/** The one that is verified and mailed; undefined for none. */
function primaryOf(emails: unknown): unknown {
  if (!Array.isArray(emails)) throw new Error('its addresses are no list')
  return emails.filter(isObject).find(({ primary, verified }) => primary === true && verified === true)?.email
}
