// What the options of the plugin come to: their defaults, and one clear sentence for each that cannot be meant.
import type { FastifyInstance } from 'fastify'
import type { Verifier } from './access-token.ts'
import { RELAXATIONS } from './claims.ts'
import { isLoopback } from './issuer-metadata.ts'
import { createHoldsScope, type HoldsScope } from './implication.ts'
import { assertBoolean, assertFunction, assertListOf, assertNames, assertOption } from './option-checks.ts'
import type { IssuerOptions, KeyOptions, RequireScopeOptions } from './options.ts'
import { assertScopes } from './scope.ts'
import type { SenderConstraint } from './sender-constraint.ts'
import type { IssuerPolicy, KeyPolicy } from './trusted-issuer.ts'
import { ALGORITHMS } from './verification-keys.ts'

/** The options with all defaults filled in, durations in milliseconds. */
export interface Settings {
  readonly verifier: Verifier | undefined
  readonly issuers: readonly IssuerPolicy[]
  readonly audienceOf: (issuer: string) => readonly string[]
  readonly keys: KeyPolicy
  readonly prefetch: 'background' | 'required' | 'lazy'
  readonly resource: string | undefined
  readonly metadata: Readonly<Record<string, unknown>> | undefined
  readonly root: FastifyInstance | undefined
  readonly realm: string
  readonly queryParameter: boolean
  /** The very list that was given. */
  readonly senderConstraints: readonly SenderConstraint[]
  readonly holdsScope: HoldsScope
  readonly unguarded: 'allow' | 'deny'
  readonly now: () => number
}

const WHO = 'requireScope'
const NAMES =
  'issuer verifier audience keys resource metadata root realm queryParameter senderConstraints implies unguarded now'.split(
    ' ',
  )
const ISSUER_NAMES = 'issuer audience algorithms jwksUri accept dangerouslyAllowInsecureHttp'.split(' ')
const KEY_NAMES = 'prefetch staleIfError cooldown timeout'.split(' ')
/** Seconds; what a timer can count has an end. */
const LONGEST_TIMER = 3600
/** What Fastify itself puts among a plugin's options. */
const FASTIFY_NAMES = ['prefix', 'logLevel', 'logSerializers', 'encapsulate']

/** @throws {TypeError} naming the option that is wrong */
export function readOptions(options: RequireScopeOptions): Settings {
  assertNames(WHO, options, [...NAMES, ...FASTIFY_NAMES])
  const { verifier, resource } = options
  const given = ['issuer', 'verifier'].find((name) => name in options)
  const isUnset = options.issuer === undefined && verifier === undefined && given !== undefined
  assert(
    (options.issuer === undefined) !== (verifier === undefined),
    `give either issuer or verifier${isUnset ? `; ${given} is undefined` : ''}`,
  )
  assert(verifier === undefined || typeof verifier.verify === 'function', 'verifier has no verify method')
  assert(verifier === undefined || options.keys === undefined, 'keys go with issuer, not with verifier')
  if (resource !== undefined) readUrl('resource', resource, false)
  const listed = options.issuer === undefined ? [] : [options.issuer].flat()
  assert(verifier !== undefined || listed.length > 0, 'issuer is empty')
  const issuerOptions = listed.map((entry) => (typeof entry === 'string' ? { issuer: entry } : entry))
  const issuers = issuerOptions.map((entry) => readIssuer(entry))
  const audiences = new Map<string, readonly string[]>()
  const common = readAudience(options.audience ?? resource)
  for (const { issuer, audience } of issuerOptions) {
    assert(!audiences.has(issuer), `issuer ${issuer} is listed twice`)
    audiences.set(issuer, readAudience(audience) ?? common ?? [issuer])
  }
  const first = common ?? audiences.values().next().value
  assert(first !== undefined, 'verifier needs an audience or a resource')
  const { realm = resource ?? first[0] ?? '', queryParameter = false, now = Date.now } = options
  const { unguarded = 'allow' } = options
  assert(unguarded === 'allow' || unguarded === 'deny', "unguarded must be 'allow' or 'deny'")
  assert(typeof realm === 'string' && realm !== '', 'realm must be a text')
  assertBoolean(WHO, 'queryParameter', queryParameter)
  assertFunction(WHO, 'now', now)
  return {
    verifier,
    issuers,
    audienceOf: (issuer) => audiences.get(issuer) ?? common ?? [],
    ...readKeys(options.keys ?? {}),
    resource,
    metadata: readMetadata(options),
    root: options.root,
    realm,
    queryParameter,
    senderConstraints: readConstraints(options.senderConstraints ?? []),
    holdsScope: createHoldsScope(options.implies),
    unguarded,
    now,
  }
}

function readIssuer(options: IssuerOptions): IssuerPolicy {
  assert(isObject(options), 'issuer must be a URL or an object')
  assertNames(WHO, options, ISSUER_NAMES)
  const { issuer, jwksUri, algorithms = ALGORITHMS, accept = [] } = options
  const insecureHttp = options.dangerouslyAllowInsecureHttp ?? false
  assertBoolean(WHO, 'dangerouslyAllowInsecureHttp', insecureHttp)
  readUrl('issuer', issuer, insecureHttp)
  assertListOf(WHO, 'algorithms', algorithms, ALGORITHMS, 'algorithm')
  assert(algorithms.length > 0, 'algorithms is empty')
  assertListOf(WHO, 'accept', accept, RELAXATIONS)
  return {
    issuer,
    algorithms: new Set(algorithms),
    accept: new Set(accept),
    jwksUri: jwksUri === undefined ? undefined : readUrl('jwksUri', jwksUri, insecureHttp),
    insecureHttp,
  }
}

function readKeys(options: KeyOptions): Pick<Settings, 'keys' | 'prefetch'> {
  assertNames(WHO, options, KEY_NAMES, 'keys')
  const { prefetch = 'background', staleIfError = 86_400, cooldown = 2, timeout = 5 } = options
  assert(['background', 'required', 'lazy'].includes(prefetch), 'prefetch is background, required or lazy')
  const inMilliseconds = (name: string, seconds: number, least: number, most: number): number => {
    const sentence = `${name} must be a number of seconds, at least ${least} and at most ${most}`
    assert(typeof seconds === 'number' && seconds >= least && seconds <= most, sentence)
    return seconds * 1000
  }
  return {
    prefetch,
    keys: {
      staleIfError: inMilliseconds('staleIfError', staleIfError, 0, Number.MAX_SAFE_INTEGER),
      cooldown: inMilliseconds('cooldown', cooldown, 0.05, LONGEST_TIMER),
      timeout: inMilliseconds('timeout', timeout, 0.05, LONGEST_TIMER),
    },
  }
}

function readConstraints(constraints: readonly SenderConstraint[]): readonly SenderConstraint[] {
  assert(Array.isArray(constraints), 'senderConstraints must be a list')
  const known = new Set<string>()
  for (const constraint of constraints) {
    const { scheme, confirmation, required = false } = (constraint ?? {}) as Partial<SenderConstraint>
    assert(typeof scheme === 'string' && /^[\w-]+$/.test(scheme), 'a sender constraint has no scheme')
    assert(typeof confirmation === 'string' && confirmation !== '', 'a sender constraint has no confirmation')
    assert(
      typeof constraint.verify === 'function',
      `the sender constraint ${confirmation} has no verify method`,
    )
    assertBoolean(WHO, `required of the sender constraint ${confirmation}`, required)
    assert(!known.has(confirmation), `the sender constraint ${confirmation} is listed twice`)
    known.add(confirmation)
  }
  return constraints
}

function readMetadata({ metadata, resource }: RequireScopeOptions): Settings['metadata'] {
  if (metadata === false) return undefined
  assert(metadata === undefined || isObject(metadata), 'metadata must be an object, or false')
  assert(metadata === undefined || resource !== undefined, 'metadata needs a resource')
  const scopes = metadata?.['scopes_supported'] ?? []
  assert(Array.isArray(scopes), 'metadata.scopes_supported must be a list')
  assertScopes(scopes)
  return resource === undefined ? undefined : (metadata ?? {})
}

function readAudience(audience: string | readonly string[] | undefined): readonly string[] | undefined {
  if (audience === undefined) return undefined
  const list = [audience].flat()
  assert(
    list.length > 0 && list.every((item) => typeof item === 'string' && item !== ''),
    'audience is empty',
  )
  return list
}

function readUrl(name: string, value: string, insecureHttp: boolean): URL {
  assert(typeof value === 'string' && URL.canParse(value), `${name} must be a URL`)
  const url = new URL(value)
  const plain = url.protocol === 'http:' && (insecureHttp || isLoopback(url))
  assert(url.protocol === 'https:' || plain, `${name} must be https, or http on this machine`)
  const bare = url.hash === '' && url.username === '' && url.password === '' && !value.includes('#')
  assert(
    bare && (url.search === '' || name !== 'issuer'),
    `${name} must have no query, fragment or credentials`,
  )
  return url
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function assert(condition: boolean, message: string): asserts condition {
  assertOption(WHO, condition, message)
}
