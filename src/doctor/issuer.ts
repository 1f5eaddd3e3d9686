/** Whether who asks for the issuer's metadata, as every client does, reaches this server. */
import { fail, ok, warn, type Finding } from './finding.ts'

const PATIENCE = 5000
const CHECK = 'issuer'

export async function examineIssuer(issuer: string): Promise<Finding> {
  const address = `${issuer}/.well-known/openid-configuration`
  try {
    const response = await fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(PATIENCE) })
    if (response.status !== 200)
      return fail(CHECK, `${address} answers ${response.status}: let the proxy hand it to this server.`)
    const found = ((await response.json()) as { issuer?: unknown }).issuer
    if (found === issuer) return ok(CHECK, `${address} answers, as this issuer.`)
    const name = JSON.stringify(String(found).slice(0, 200))
    return fail(CHECK, `${address} says that its issuer is ${name}: OIDC_ISSUER must be one text everywhere.`)
  } catch (error) {
    return warn(
      CHECK,
      `${address} does not answer (${reason(error)}): start the server, or see where this name leads.`,
    )
  }
}

function reason(error: unknown): string {
  const { cause, name } = error as Error
  const { code, errors } = (cause ?? {}) as { code?: string; errors?: { code?: string }[] }
  return code ?? errors?.[0]?.code ?? name
}
