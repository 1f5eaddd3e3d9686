/** The plugins of PLUGINS, as far as their modules tell before they run: whether they load, and the settings that they export. */
import { ConfigError, type SettingValues } from '../config.ts'
import { importPlugin } from '../mounting/plugin-modules.ts'
import { parseOwn } from '../settings/plugin-settings.ts'
import { settingsOf, type SettingSchema } from '../settings/setting-value.ts'
import { fail, ok, type Finding } from './finding.ts'

const CHECK = 'plugins'

export interface ExaminedPlugins {
  readonly findings: readonly Finding[]
  /** Of their settings. */
  readonly names: readonly string[]
}

export async function examinePlugins(
  specifiers: readonly string[],
  values: SettingValues,
): Promise<ExaminedPlugins> {
  const findings: Finding[] = []
  const names: string[] = []
  for (const specifier of specifiers) {
    try {
      const { settings } = await importPlugin(specifier)
      findings.push(ok(CHECK, `${specifier} can be loaded.`))
      for (const [name, setting] of settings === undefined ? [] : settingsOf(settings)) {
        names.push(name)
        findings.push(refusable(() => describe(name, setting, parseOwn(settings!, name, setting, values))))
      }
    } catch (error) {
      findings.push(refused(error))
    }
  }
  return { findings, names }
}

/** What it is for, and what it is, unless that is a secret. */
function describe(name: string, { secret, description }: SettingSchema, value: unknown): Finding {
  const shown = secret ? 'set' : JSON.stringify(value)?.slice(0, 80)
  return ok(CHECK, `${name} is ${value === undefined ? 'not set' : shown}: ${description}.`)
}

function refusable(work: () => Finding): Finding {
  try {
    return work()
  } catch (error) {
    return refused(error)
  }
}

function refused(error: unknown): Finding {
  if (error instanceof ConfigError) return fail(CHECK, error.message)
  throw error
}
