/**
 * The typed parser in front of every endpoint and grant: a schema in wire names goes in, a function from `Wire`,
 * or the members of a JSON body, to the schema's static type comes out. Unknown parameters are ignored (RFC 6749 §3.1).
 */
import type { Static, TObject } from 'typebox'
import type { Bag } from './bag.ts'
import { OAuthError } from './errors.ts'
import { checkOf, type Misfit, Type } from './schema.ts'
import type { Wire } from './wire.ts'

/** Longest value of a parameter, in characters, where its schema sets no `maxLength` of its own. */
const LIMITS: ReadonlyMap<string, number> = new Map([
  ['state', 4096],
  ['nonce', 1024],
  ['scope', 2048],
  ['code', 512],
  ['code_verifier', 128],
  ['client_assertion', 16_384],
  ['assertion', 16_384],
  ['id_token_hint', 16_384],
  ['request', 16_384],
  ['token', 16_384],
  ['redirect_uri', 2048],
  ['redirect_uris', 32_768],
  ['post_logout_redirect_uris', 32_768],
  ['resource', 2048],
  ['client_id', 256],
  ['client_secret', 1024],
])
const DEFAULT_LIMIT = 4096
const NO_LIMITS: ReadonlyMap<string, number> = new Map()

/** Refuses over-long values; called once for all parameters of a request. `own` limits go before the usual ones. */
export function assertLengths(wire: Wire, own: ReadonlyMap<string, number> = NO_LIMITS): void {
  for (const name in wire) {
    const limit = own.get(name) ?? LIMITS.get(name) ?? DEFAULT_LIMIT
    const value = wire[name]!
    const longest = typeof value === 'string' ? value.length : Math.max(...value.map((one) => one.length))
    if (longest > limit) {
      throw new OAuthError('invalid_request', `a parameter is too long${LIMITS.has(name) ? `: ${name}` : ''}`)
    }
  }
}

/** For what is read before a request is: its only value. Throws `invalid_request`. */
export function singleParameter(
  name: string,
  wire: Wire,
  repeated: ReadonlySet<string>,
  maxLength: number,
): string {
  const value = wire[name]
  if (value === undefined) throw new OAuthError('invalid_request', `the parameter ${name} is missing`)
  if (typeof value !== 'string' || repeated.has(name))
    throw new OAuthError('invalid_request', `the parameter ${name} is repeated`)
  if (value.length > maxLength) throw new OAuthError('invalid_request', `the parameter ${name} is too long`)
  return value
}

/** The `maxLength` of those members that have one, for `assertLengths`. */
export function lengthsOf({ properties }: TObject): ReadonlyMap<string, number> {
  const limits = Object.entries(properties as Record<string, { maxLength?: number }>)
  return new Map(
    limits.flatMap(([name, { maxLength }]) => (maxLength === undefined ? [] : [[name, maxLength]])),
  )
}

/**
 * Compiles `schema` into a parser. The parser throws `invalid_request` naming the first parameter that is
 * missing or malformed.
 */
export function compileParameters<P extends TObject>(schema: P): (sent: Bag) => Static<P> {
  const names = Object.keys(schema.properties)
  const check = checkOf(schema)
  return (sent) => {
    const picked: Record<string, unknown> = {}
    for (const name of names) if (sent[name] !== undefined) picked[name] = sent[name]
    const misfit = check(picked)
    if (misfit === undefined) return picked as Static<P>
    throw new OAuthError('invalid_request', describe(misfit))
  }
}

function describe({ instancePath, missing }: Misfit): string {
  if (missing !== undefined) return `the parameter ${missing} is missing`
  const name = instancePath.split('/')[1]
  return name === undefined ? 'a parameter is malformed' : `the parameter ${name} is malformed`
}

/** A parameter that may come several times, such as `resource` (RFC 8707 §2). */
export const Repeatable = (): ReturnType<typeof Type.Array<ReturnType<typeof Type.String>>> =>
  Type.Array(Type.String())
