/** How long accounts are kept whose people have asked for their deletion, by OIDC_ACCOUNT_DELETION. */
import type { Config } from '../../src/config.ts'

const DAY = 86_400

/** In days; null where nobody can ask. */
export function graceOf({ OIDC_ACCOUNT_DELETION: setting }: Config): number | null {
  return setting === 'off' ? null : Number(setting)
}

export function toSeconds(days: number): number {
  return days * DAY
}
