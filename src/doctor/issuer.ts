/** Whether who asks for the issuer's metadata, as every client does, reaches this server. */
import { DEFAULT_PORTS, type Config } from '../config.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

/** Milliseconds: for a server that may be far, and for each port of this machine. */
const [PATIENCE, LOCAL_PATIENCE] = [5000, 500]
const CHECK = 'issuer'

/** What was found at an address; where it is not well, what to do. */
interface Look {
  readonly find: typeof ok
  readonly found: string
  readonly remedy?: string
}

export async function examineIssuer(config: Config): Promise<Finding> {
  const look = await lookAt(config.issuer)
  const isDefault = config.OIDC_ISSUER === undefined && config.PORT === undefined
  const { find, found, remedy } = look.find === ok || !isDefault ? look : await lookFurther(look)
  return find(CHECK, `${found}${remedy === undefined ? '' : `: ${remedy}`}.`)
}

async function lookAt(issuer: string): Promise<Look> {
  const address = metadataOf(issuer)
  try {
    const response = await ask(address, PATIENCE)
    if (response.status !== 200)
      return {
        find: fail,
        found: `${address} answers ${response.status}`,
        remedy: 'let the proxy hand it to this server',
      }
    const named = ((await response.json()) as { issuer?: unknown }).issuer
    if (named === issuer) return { find: ok, found: `${address} answers, as this issuer` }
    const name = JSON.stringify(String(named).slice(0, 200))
    return {
      find: fail,
      found: `${address} says that its issuer is ${name}`,
      remedy: 'OIDC_ISSUER must be one text everywhere',
    }
  } catch (error) {
    return {
      find: warn,
      found: `${address} does not answer (${reason(error)})`,
      remedy: 'start the server, or see where this name leads',
    }
  }
}

/** A server whose PORT is not set takes the next that is free, and is the issuer of that. */
async function lookFurther({ found }: Look): Promise<Look> {
  const { first, last } = DEFAULT_PORTS
  for (let port = first + 1; port <= last; port++) {
    const issuer = `http://localhost:${port}`
    if (await isIssuer(issuer))
      return {
        find: ok,
        found: `${metadataOf(issuer)} answers, as the issuer of that port and not of ${first}`,
        remedy: `set PORT=${port} for commands, which find it by themselves only where their DATA_DIR is the server's`,
      }
  }
  return {
    find: warn,
    found: `${found}, and no issuer on the ports up to ${last}, of which a start takes the first that is free`,
    remedy: 'start the server, or set PORT to the one that it has, or DATA_DIR to its own',
  }
}

async function isIssuer(issuer: string): Promise<boolean> {
  try {
    const response = await ask(metadataOf(issuer), LOCAL_PATIENCE)
    return ((await response.json()) as { issuer?: unknown }).issuer === issuer
  } catch {
    return false
  }
}

function metadataOf(issuer: string): string {
  return `${issuer}/.well-known/openid-configuration`
}

async function ask(address: string, patience: number): Promise<Response> {
  return fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(patience) })
}

function reason(error: unknown): string {
  const { cause, name } = error as Error
  const { code, errors } = (cause ?? {}) as { code?: string; errors?: { code?: string }[] }
  return code ?? errors?.[0]?.code ?? name
}
