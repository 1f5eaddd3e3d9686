/** Whether the directory of LDAP_URL answers, under TLS and to LDAP_BIND_DN, and has LDAP_BASE_DN: nobody's password is needed. */
import { createDirectoryProbe } from '../../plugins/ldap/directory.ts'
import type { Config } from '../config.ts'
import { ldapConfig } from '../settings/ldap.ts'
import { fail, ok, type Finding } from './finding.ts'

const CHECK = 'directory'

/** Nothing where no directory is named. */
export async function examineDirectory(config: Config): Promise<Finding[]> {
  const ldap = ldapConfig(config)
  if (ldap === null) return []
  const { host } = ldap.url
  try {
    await createDirectoryProbe(ldap)()
    return [
      ok(
        CHECK,
        `The directory at ${host} answers, and has ${ldap.baseDn}; \`latchkey ldap test NAME\` shows somebody of it.`,
      ),
    ]
  } catch (error) {
    return [fail(CHECK, `The directory at ${host} cannot be asked: ${(error as Error).message}.`)]
  }
}
