/**
 * Every setting, explained once: the whole configuration as one schema, and the type that is derived from it.
 * `config.ts` parses the environment against it.
 */
import type { Static } from 'typebox'
import { Type } from '../protocol/schema.ts'
import { LdapSettings } from './ldap.ts'
import { PageSettings } from './pages.ts'
import { ProcessSettings } from './process.ts'
import { ProtocolSettings } from './protocol.ts'
import { UpkeepSettings } from './upkeep.ts'

export const Settings = Type.Object({
  ...ProcessSettings,
  ...ProtocolSettings,
  ...LdapSettings,
  ...PageSettings,
  ...UpkeepSettings,
})
export type Settings = Static<typeof Settings>
