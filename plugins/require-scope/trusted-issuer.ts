// One issuer that a foreign app trusts: its settings, where its keys are, and what is logged about them.
import type { FastifyBaseLogger } from 'fastify'
import type { Relaxation } from './claims.ts'
import { fetchJson } from './fetch-json.ts'
import { discoverJwksUri } from './issuer-metadata.ts'
import { KeyCache } from './key-cache.ts'
import type { KeySnapshot } from './key-cache.ts'
import { readKeySet } from './verification-keys.ts'

/** The settings of one issuer, defaults filled in. */
export interface IssuerPolicy {
  readonly issuer: string
  readonly algorithms: ReadonlySet<string>
  readonly jwksUri: URL | undefined
  readonly accept: ReadonlySet<Relaxation>
  readonly insecureHttp: boolean
}

/** How keys are kept, all in milliseconds. */
export interface KeyPolicy {
  readonly staleIfError: number
  readonly cooldown: number
  readonly timeout: number
}

export interface Surroundings {
  readonly log: FastifyBaseLogger
  /** Aborted when the app closes. */
  readonly signal: AbortSignal
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** For how long a `jwks_uri` is believed without reading the metadata again, in milliseconds. */
const METADATA_LIFETIME = 3_600_000

export interface TrustedIssuer extends IssuerPolicy {
  readonly keys: KeyCache
}

export function trustIssuer(
  policy: IssuerPolicy,
  keyPolicy: KeyPolicy,
  surroundings: Surroundings,
): TrustedIssuer {
  const { log, now, signal } = surroundings
  const { issuer } = policy
  const keys = new KeyCache({
    ...keyPolicy,
    now,
    signal,
    fetch: keySource(policy, keyPolicy.timeout, surroundings),
    onFetched(fetched, { first, changed, back }) {
      const kids = fetched.map((key) => key.kid)
      if (back && !first) log.info({ issuer, kids }, 'requireScope: the issuer is back, keys fetched')
      else if (first || changed) log.info({ issuer, kids }, 'requireScope: keys fetched')
      else log.debug({ issuer }, 'requireScope: keys fetched, no change')
    },
    onFailed(err, { failures, serving }) {
      if (signal.aborted) return
      const consequence = serving ? 'serving with the keys at hand' : 'no token can be verified'
      const level = failures === 1 ? 'warn' : 'debug'
      log[level]({ err, issuer, failures }, `requireScope: keys could not be fetched, ${consequence}`)
    },
  })
  return { ...policy, keys }
}

function keySource(
  policy: IssuerPolicy,
  timeout: number,
  { now, signal }: Surroundings,
): () => Promise<KeySnapshot> {
  let known: { jwksUri: URL; until: number } | undefined
  return async () => {
    const options = { timeout, signal }
    let jwksUri = policy.jwksUri ?? (known !== undefined && now() < known.until ? known.jwksUri : undefined)
    // Forgotten until the fetch has worked: the keys may have moved.
    known = undefined
    jwksUri ??= await discoverJwksUri(policy.issuer, policy.insecureHttp, options)
    const { document, maxAge, age } = await fetchJson(jwksUri, options)
    const keys = await readKeySet(document)
    if (keys.length === 0) throw new Error(`${jwksUri.href} has no usable key`)
    known = { jwksUri, until: now() + METADATA_LIFETIME }
    return { keys, lifetime: maxAge === undefined ? undefined : maxAge * 1000, age: Math.max(0, age * 1000) }
  }
}
