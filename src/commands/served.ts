/** What the running server serves, which may be more than a command has loaded: plugins that only its host registers. */
import type { Config } from '../config.ts'
import { findServedPort } from '../services/database/served-port.ts'

/** Milliseconds: a command does not wait for a server that is not there. */
const PATIENCE = 1000
/** Where its metadata names what a member of a client may be (RFC 8414 §2). */
const SUPPORTED: ReadonlyMap<string, string> = new Map([
  ['grant_types', 'grant_types_supported'],
  ['response_types', 'response_types_supported'],
  ['token_endpoint_auth_method', 'token_endpoint_auth_methods_supported'],
])

export type IsServed = (member: string, name: string) => boolean

/** Asks the server, where `members` name anything of it. Without an answer, nothing is. */
export async function servedBy(
  issuer: string,
  members: Readonly<Record<string, unknown>>,
): Promise<IsServed> {
  if (!Object.keys(members).some((name) => SUPPORTED.has(name))) return () => false
  const metadata = await readMetadata(issuer)
  return (member, name) => {
    const names = metadata[SUPPORTED.get(member) ?? '']
    return Array.isArray(names) && names.includes(name)
  }
}

/** What of the settings the running server found out by itself: the port that it took, where neither that nor the issuer is set. */
export async function portOfServer({ PORT, OIDC_ISSUER, DATA_DIR }: Config): Promise<{ PORT?: number }> {
  if (PORT !== undefined || OIDC_ISSUER !== undefined) return {}
  const noted = await findServedPort(DATA_DIR)
  if (noted === undefined) return {}
  const metadata = await readMetadata(`http://localhost:${noted}`)
  return metadata['issuer'] === undefined ? {} : { PORT: noted }
}

async function readMetadata(issuer: string): Promise<Record<string, unknown>> {
  try {
    const address = `${issuer}/.well-known/openid-configuration`
    const response = await fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(PATIENCE) })
    const metadata = (await response.json()) as Record<string, unknown>
    return metadata['issuer'] === issuer ? metadata : {}
  } catch {
    return {}
  }
}
