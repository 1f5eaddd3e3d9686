/** Settings of what goes on by itself: keys that follow each other, the audit log, the janitor. */
import { Type } from '../protocol/schema.ts'
import { Seconds } from './units.ts'

export const UpkeepSettings = {
  OIDC_SIGN_SYNCHRONOUSLY: Type.Boolean({
    default: true,
    description:
      'ES256 access tokens are signed on the request path; false hands them to the thread pool by jose',
  }),
  OIDC_KEY_ROTATE: Seconds(90 * 86_400, 0, 'age at which a signing key is replaced; 0 for never'),
  OIDC_KEY_PUBLISH: Seconds(35, 3, 'how long a new signing key is published before it signs'),
  OIDC_AUDIT_EXPIRE: Seconds(365 * 86_400, 0, 'age at which audit events are removed; 0 keeps them'),
  OIDC_AUDIT_TOKENS: Type.Enum(['each', 'merged'], {
    default: 'each',
    description:
      '`each`: the audit log names the Authorization of each token of a user; `merged`: of the first 200 in a second, the others are counted by client',
  }),
  OIDC_JANITOR_INTERVAL: Seconds(
    60,
    0,
    'how often what has expired is removed from the database; 0 for never, where another process does it',
  ),
}
