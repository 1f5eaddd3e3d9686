/** What profiles make of settings; what they make of clients is theirs (`plugins/profiles/`). */
import { ConfigError, type SettingValues } from './setting-value.ts'
import type { Settings } from './index.ts'

const LOCKED: Readonly<Record<string, readonly LockedSetting[]>> = {
  'fapi-2.0': [
    { name: 'OIDC_CODE_EXPIRE', most: 60 },
    { name: 'OIDC_IMPLICIT', only: false },
  ],
  'fapi-ciba': [
    { name: 'OIDC_CIBA', only: true },
    { name: 'OIDC_IMPLICIT', only: false },
  ],
  mcp: [
    { name: 'OIDC_CODE_EXPIRE', most: 600 },
    { name: 'OIDC_IMPLICIT', only: false },
  ],
  'oauth-2.1': [
    { name: 'OIDC_CODE_EXPIRE', most: 600 },
    { name: 'OIDC_IMPLICIT', only: false },
  ],
}

interface LockedSetting {
  readonly name: string
  readonly most?: number
  readonly only?: boolean
}

/** What nobody has set is as it must be by the profile alone. */
export function assertProfiles(settings: Settings, given: SettingValues): void {
  const values: Readonly<Record<string, unknown>> = settings
  for (const profile of settings.OIDC_PROFILE)
    for (const { name, most, only } of LOCKED[profile] ?? []) {
      if (given[name] === undefined) continue
      const value = values[name]
      if (most !== undefined && Number(value) > most)
        throw new ConfigError(`${name} must be ${most} at most: OIDC_PROFILE ${profile} needs it.`)
      if (only !== undefined && value !== only)
        throw new ConfigError(`${name} must be ${String(only)}: OIDC_PROFILE ${profile} needs it.`)
    }
}
