/** What an examination found: one line for people, and the same for programs. */

/** What is looked at, in a word or two each: docs/doctor.md says of each what. */
export const CHECKS = [
  'Node', 'clock', 'settings', 'plugins', 'choices', 'seed file', 'brand', 'embedded PostgreSQL', 'disk', 'database', 'database clock', 'connections',
  'schema', 'replica', 'distribution', 'signing keys', 'KEYS', 'SECRET_KEY', 'administrator', 'addresses', 'shared signals', 'token exchange', 'trusted issuers', 'upstreams', 'mail', 'directory', 'issuer',
] as const // prettier-ignore

export interface Finding<Check extends string = (typeof CHECKS)[number]> {
  readonly check: Check
  readonly status: 'ok' | 'warn' | 'fail'
  /** One sentence; where something is wrong, it says what to do. */
  readonly says: string
}

type Find = <Check extends string>(check: Check, says: string) => Finding<Check>

export const ok: Find = (check, says) => ({ check, status: 'ok', says })
/** It works, and should not stay as it is. */
export const warn: Find = (check, says) => ({ check, status: 'warn', says })
/** The server does not start like this, or does harm; a client gets no further. */
export const fail: Find = (check, says) => ({ check, status: 'fail', says })
