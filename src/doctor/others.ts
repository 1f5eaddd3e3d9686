/**
 * Others on whom something here depends, trusted issuers and upstreams: whether their keys can be read now, or, of those that have none, whether
 * they answer, by the guarded way on which the server asks them.
 */
import type { Config } from '../config.ts'
import { type Fetch, OutboundError } from '../doors/outbound.ts'
import { OAuthError } from '../protocol/errors.ts'
import { isObject, parseJson } from '../protocol/json.ts'
import { JwkSetError, parseJwkSet } from '../protocol/jwk-set.ts'
import { isSame } from '../protocol/own-issuer.ts'
import { upstreamInformation } from '../protocol/upstream-information.ts'
import { endpointsOf, hasIdTokens } from '../protocol/upstream-kinds.ts'
import { parseJsonObject } from '../protocol/strict-json.ts'
import { createGuardedFetch, outboundOf } from '../services/outbound/guarded-fetch.ts'
import { toStored } from '../services/upstreams/upstream-rows.ts'
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
  /** That one cannot be asked, what it is not good for then, and the member that says where it is asked. */
  cannot(name: string): string
  readonly lost: string
  readonly member: string
  /** That so many can be. */
  good(count: number): string
}

const KEYS: Pick<Kind, 'cannot' | 'good'> = {
  cannot: (name) => `The keys of ${name} cannot be read now`,
  good: (count) => `The keys of ${count} can be read.`,
}
const TRUSTED_ISSUERS: Kind = {
  ...KEYS,
  check: 'trusted issuers',
  command: 'trusted-issuer',
  lost: 'without them no JWT of it is good',
  member: 'jwks_uri',
}
const UPSTREAMS: Kind = {
  ...KEYS,
  check: 'upstreams',
  command: 'upstream',
  lost: 'without them nobody signs in by it',
  member: 'issuer',
}
/** That speak OAuth 2.0 alone. */
const KEYLESS: Kind = {
  ...UPSTREAMS,
  cannot: (name) => `${name} does not answer now as it should`,
  lost: 'until it does nobody signs in by it',
  member: 'addresses',
  good: (count) => `${count} without keys answer${count === 1 ? 's' : ''}.`,
}

/** One of them. `look` throws `Unreadable` where its keys cannot be read. */
interface Other {
  readonly issuer: string
  /** How the command calls it. */
  readonly name: string
  look(fetch: Fetch): Promise<void>
}

/** What cannot be read, and why. */
class Unreadable extends Error {
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
    ...(await examineAll(UPSTREAMS, providers.filter(hasIdTokens).map(upstream), fetch, issuer)),
    ...(await examineAll(KEYLESS, providers.filter((one) => !hasIdTokens(one)).map(keyless), fetch, issuer)),
  ]
}

async function examineAll(
  kind: Kind,
  others: readonly Other[],
  fetch: Fetch,
  own: string,
): Promise<Finding[]> {
  const { check, good: said } = kind
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
    ...(good > 0 ? [ok(check, said(good))] : []),
    ...(left > 0
      ? [ok(check, `${left} more were not asked for their keys: at most ${MOST} are, for ${LONGEST / 1000} seconds.`)]
      : []),
  ]
} // prettier-ignore

function ofItself({ command }: Kind, { name }: Other): string {
  return `${name} is this server itself, and should not be here: \`${command} delete ${name} --yes\` ends that.`
}

async function problemOf({ command, cannot, lost, member }: Kind, { name, look }: Other, fetch: Fetch): Promise<string | null> {
  try {
    await look(fetch)
    return null
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    const { address, message } = error
    const { origin } = URL.parse(address) ?? {}
    const guarded = /not https|not of the public internet/.test(message)
    const remedy = guarded && origin !== undefined ? `name ${origin} in UNSAFE_OUTBOUND_ORIGINS` : 'see what answers there'
    return `${cannot(name)} (${address}: ${message.split(';', 1)[0]}), and ${lost}: ${remedy}, or mend its ${member} by \`${command} update ${name}\`.`
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
        throw new Unreadable(address, `its issuer is ${JSON.stringify(String(named)).slice(0, 200)}`)
      if (typeof keys !== 'string') throw new Unreadable(address, 'it has no jwks_uri')
      assertKeys(keys, await readAt(fetch, keys, parseObject))
    },
  }
}

/** Nobody's code and nobody's token are shown: what refuses that is there. */
function keyless(row: UpstreamRow): Other {
  const { issuer, id: name } = row
  const { token_endpoint: token, userinfo_endpoint: userinfo } = endpointsOf(
    upstreamInformation(toStored(row)),
  )!
  return {
    issuer,
    name,
    async look(fetch) {
      for (const address of [token, userinfo]) {
        const { status } = await askAt(fetch, address)
        if (status >= 500 || (status === 404 && address === userinfo))
          throw new Unreadable(address, `it answers ${status}`)
      }
    },
  }
}

/** Throws `Unreadable` where no answer comes. */
async function askAt(fetch: Fetch, address: string): Promise<Response> {
  try {
    return await fetch(address, { headers: { accept: 'application/jwk-set+json, application/json' } })
  } catch (error) {
    if (error instanceof OutboundError) throw new Unreadable(address, error.reason)
    throw error
  }
}

/** Throws `Unreadable`. */
async function readAt<T>(fetch: Fetch, address: string, parse: (bytes: Uint8Array) => T): Promise<T> {
  const response = await askAt(fetch, address)
  if (response.status !== 200) throw new Unreadable(address, `it answers ${response.status}`)
  try {
    return parse(await response.bytes())
  } catch (error) {
    if (error instanceof OAuthError) throw new Unreadable(address, error.message.replace(/^the body /, 'it '))
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
    throw new Unreadable(address, `it ${error.message}`)
  }
  throw new Unreadable(address, 'none of its keys is of use')
}
