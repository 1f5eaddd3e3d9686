/**
 * Others on whom something here depends, trusted issuers and upstreams: whether their keys can be read now, by the guarded way on which the
 * server asks for them.
 */
import type { Config } from '../config.ts'
import { type Fetch, OutboundError } from '../doors/outbound.ts'
import { OAuthError } from '../protocol/errors.ts'
import { isObject, parseJson } from '../protocol/json.ts'
import { JwkSetError, parseJwkSet } from '../protocol/jwk-set.ts'
import { isSame } from '../protocol/own-issuer.ts'
import { parseJsonObject } from '../protocol/strict-json.ts'
import { createGuardedFetch, outboundOf } from '../services/outbound/guarded-fetch.ts'
import type { Database } from '../store/database.ts'
import { everyPage } from '../store/every-page.ts'
import { statements as trusted, type TrustedIssuerRow } from '../store/trusted-issuers.ts'
import { statements as upstreams, type UpstreamRow } from '../store/upstreams.ts'
import { ok, warn, type Finding } from './finding.ts'

/** What others of one kind have in common. */
interface Kind {
  readonly check: 'trusted issuers' | 'upstreams'
  /** That changes one. */
  readonly command: string
  /** What one is not good for without its keys, and the member that says where they are. */
  readonly lost: string
  readonly member: string
}

const TRUSTED_ISSUERS: Kind = {
  check: 'trusted issuers',
  command: 'trusted-issuer',
  lost: 'no JWT of it is good',
  member: 'jwks_uri',
}
const UPSTREAMS: Kind = {
  check: 'upstreams',
  command: 'upstream',
  lost: 'nobody signs in by it',
  member: 'issuer',
}

/** One of them. `look` throws `Wrong` where its keys cannot be read. */
interface Other {
  readonly issuer: string
  /** How the command calls it. */
  readonly name: string
  look(fetch: Fetch): Promise<void>
}

/** What cannot be read, and why. */
class Wrong extends Error {
  readonly address: string

  constructor(address: string, what: string) {
    super(what)
    this.address = address
  }
}

/** Of each kind, how many are asked, at once, and so many milliseconds after which no other one is; how many are told. */
const [MOST, AT_ONCE, LONGEST, TOLD] = [100, 8, 15_000, 10]
/** Rows that are read at once. */
const PAGE = 1000

/** Never more than a warning: the server goes on without them. Nothing is said of what is not registered. */
export async function examineOthers({ query }: Pick<Database, 'query'>, config: Config): Promise<Finding[]> {
  const { WITHOUT, issuer } = config
  const fetch = createGuardedFetch(outboundOf(config))
  const issuers = await everyPage(
    (after) => query(trusted.page, [after, PAGE]),
    PAGE,
    (row) => row.issuer,
  )
  const providers = WITHOUT.includes('latchkey-upstreams')
    ? []
    : await everyPage(
        (after) => query(upstreams.page, [after, PAGE]),
        PAGE,
        ({ id }) => id,
      )
  const asked = issuers.filter(({ disabled }) => disabled !== true).map(trustedIssuer)
  return [
    ...(await examineAll(TRUSTED_ISSUERS, asked, fetch, issuer)),
    ...(await examineAll(UPSTREAMS, providers.map(upstream), fetch, issuer)),
  ]
}

async function examineAll(
  kind: Kind,
  others: readonly Other[],
  fetch: Fetch,
  own: string,
): Promise<Finding[]> {
  const { check } = kind
  const asked = others.slice(0, MOST)
  const found = new Map<Other, string | null>()
  const waiting = asked.values()
  const end = performance.now() + LONGEST
  async function goOn(): Promise<void> {
    for (const other of waiting) {
      if (performance.now() > end) return
      found.set(other, isSame(other.issuer, own) ? ofItself(kind, other) : await problemOf(kind, other, fetch))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, goOn))
  // In the order of their names, whoever answered first.
  const problems = asked.flatMap((other) => found.get(other) ?? [])
  const [good, more, left] = [
    found.size - problems.length,
    problems.length - TOLD,
    others.length - found.size,
  ]
  return [
    ...problems.slice(0, TOLD).map((problem) => warn(check, problem)),
    ...(more > 0 ? [warn(check, `${more} more are like these.`)] : []),
    ...(good > 0 ? [ok(check, `The keys of ${good} can be read.`)] : []),
    ...(left > 0
      ? [ok(check, `${left} more were not asked for their keys: at most ${MOST} are, for ${LONGEST / 1000} seconds.`)]
      : []),
  ]
} // prettier-ignore

function ofItself({ command }: Kind, { name }: Other): string {
  return `${name} is this server itself, and should not be here: \`${command} delete ${name} --yes\` ends that.`
}

async function problemOf({ command, lost, member }: Kind, { name, look }: Other, fetch: Fetch): Promise<string | null> {
  try {
    await look(fetch)
    return null
  } catch (error) {
    if (!(error instanceof Wrong)) throw error
    const { address, message } = error
    const { origin } = URL.parse(address) ?? {}
    const guarded = /not https|not of the public internet/.test(message)
    const remedy = guarded && origin !== undefined ? `name ${origin} in UNSAFE_OUTBOUND_ORIGINS` : 'see what answers there'
    return `The keys of ${name} cannot be read now (${address}: ${message}), and without them ${lost}: ${remedy}, or mend its ${member} by \`${command} update ${name}\`.`
  }
} // prettier-ignore

function trustedIssuer({ issuer, jwksUri }: TrustedIssuerRow): Other {
  return {
    issuer,
    name: issuer,
    async look(fetch) {
      if (typeof jwksUri === 'string') assertKeys(jwksUri, await readAt(fetch, jwksUri, parseJsonObject))
    },
  }
}

function upstream({ id, issuer }: UpstreamRow): Other {
  return {
    issuer,
    name: id,
    async look(fetch) {
      const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
      const { issuer: named, jwks_uri: keys } = await readAt(fetch, address, parseObject)
      if (named !== issuer)
        throw new Wrong(address, `its issuer is ${JSON.stringify(String(named)).slice(0, 200)}`)
      if (typeof keys !== 'string') throw new Wrong(address, 'it has no jwks_uri')
      assertKeys(keys, await readAt(fetch, keys, parseObject))
    },
  }
}

/** Throws `Wrong`. */
async function readAt<T>(fetch: Fetch, address: string, parse: (bytes: Uint8Array) => T): Promise<T> {
  try {
    const response = await fetch(address, { headers: { accept: 'application/jwk-set+json, application/json' } })
    if (response.status !== 200) throw new Wrong(address, `it answers ${response.status}`)
    return parse(await response.bytes())
  } catch (error) {
    if (error instanceof OutboundError) throw new Wrong(address, error.reason)
    if (error instanceof OAuthError) throw new Wrong(address, error.message.replace(/^the body /, 'it '))
    throw error
  }
} // prettier-ignore

function parseObject(bytes: Uint8Array): Record<string, unknown> {
  const value = parseJson(Buffer.from(bytes).toString())
  if (isObject(value)) return value
  throw new OAuthError('invalid_request', 'the body must be a JSON object')
}

function assertKeys(address: string, document: unknown): void {
  try {
    if (parseJwkSet(document).length > 0) return
  } catch (error) {
    if (!(error instanceof JwkSetError)) throw error
    throw new Wrong(address, `it ${error.message}`)
  }
  throw new Wrong(address, 'none of its keys is of use')
}
