/** How one that speaks OAuth 2.0 alone does what no standard says. */
import type { Endpoints, SecretMethod } from '../../src/protocol/upstream-kinds.ts'

/** As it came. */
export type Userinfo = Readonly<Record<string, unknown>>
/** Asks an address with the access token; the JSON that it answers. Throws where that is none. */
export type Ask = (address: string) => Promise<unknown>

export interface Dialect {
  /** Media type that its userinfo endpoint is asked for. */
  readonly accept: string
  /** What is asked for where nothing is registered. */
  readonly scope: readonly string[]
  readonly authenticationMethod: SecretMethod
  readonly subjectClaim: string
  /** Of the parameters of OpenID Connect that we would send, those that it knows. */
  parameters(asked: Readonly<Record<string, string>>): Record<string, string>
  /** Claims by the names of the standard beside its own. */
  claims(userinfo: Userinfo, scope: readonly string[], ask: Ask, endpoints: Endpoints): Promise<Userinfo>
}
