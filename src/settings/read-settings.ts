/** The settings of a command's environment. */
import { parseConfig, type Config, type SettingValues } from '../config.ts'
import { describeStrays } from './setting-names.ts'

/** Where it refuses, it says which names are misspelt: there is no log yet, and one of them may be the reason. */
export function readSettings(environment: SettingValues): Config {
  try {
    return parseConfig(environment)
  } catch (error) {
    for (const stray of describeStrays(environment)) console.error(stray)
    throw error
  }
}
