/** What of this process's environment is for the server alone: a process that runs somebody else's code begins without it. */
import { namesOf, settingsOf, type SettingSchema } from './setting-value.ts'
import { Settings } from './index.ts'

/** Of whichever server in this process: the environment is one. */
const ours = new Set<string>()

/** From now on it is one of them, with its file, where it is a secret: of a plugin's settings. */
export function noteSecret(name: string, schema: SettingSchema): void {
  if (schema.secret) for (const one of namesOf(name, schema)) ours.add(one)
}

for (const [name, schema] of settingsOf(Settings)) noteSecret(name, schema)

export function withoutSecrets(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !ours.has(name)))
}
