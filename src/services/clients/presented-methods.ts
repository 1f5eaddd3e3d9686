/**
 * By which methods a request may prove whose it is, and which of them judges: that of the client it names. Nothing is
 * checked here.
 */
import type { FastifyRequest } from 'fastify'
import type { Client, ClientAuthentication } from '../../doors/client.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Wire } from '../../protocol/wire.ts'

/** A method that recognises the request. */
export interface Presented {
  readonly method: string
  readonly owner: ClientAuthentication
  /** The client_ids that the request claims by it. */
  readonly claims: readonly string[]
}

/** Those that recognise a request. Throws `invalid_request` for two at once (RFC 6749 §2.3). */
export type FindPresented = (request: FastifyRequest, wire: Wire) => readonly Presented[]

type Methods = readonly (readonly [string, ClientAuthentication])[]

/** Methods that serve a client which did not register one (RFC 7591 §2 would make it Basic alone). */
export const WHEN_UNSET: ReadonlySet<string> = new Set(['client_secret_basic', 'client_secret_post'])

export function mayUse({ authenticationMethod }: Client, method: string): boolean {
  return authenticationMethod === undefined ? WHEN_UNSET.has(method) : authenticationMethod === method
}

export function createFindPresented(doors: DoorRegistry): FindPresented {
  /** What is meant as a proof, and what is only there. Made when the first request comes: then all are registered. */
  let turns: { readonly meant: Methods; readonly implied: Methods } | undefined

  function turnsOf(): { meant: Methods; implied: Methods } {
    const all = [...doors.owners('clientAuthentication')]
    return {
      meant: all.filter(([, { implied = false }]) => !implied),
      implied: all.filter(([, { implied = false }]) => implied),
    }
  }

  return (request, wire) => {
    const { meant, implied } = (turns ??= turnsOf())
    const presented = recognize(meant, request, wire)
    if (presented.length === 0) return recognize(implied, request, wire)
    if (presented.length > 1) assertOneProof(presented)
    return presented
  }
}

/** Each client_id that is claimed, once. */
export function claimsOf(presented: readonly Presented[]): readonly string[] {
  const [only, ...others] = presented
  return others.length === 0 ? (only?.claims ?? []) : [...new Set(presented.flatMap(({ claims }) => claims))]
}

/** The method for who `claimed` is; where the client may use none of them, any that reads this claim. */
export function judgeOf(presented: readonly Presented[], claimed: string, client: Client | null): Presented {
  let judge: Presented | undefined
  for (const one of presented) {
    if (!one.claims.includes(claimed)) continue
    if (client !== null && mayUse(client, one.method)) return one
    judge ??= one
  }
  return judge!
}

function recognize(methods: Methods, request: FastifyRequest, wire: Wire): Presented[] {
  const presented: Presented[] = []
  for (const [method, owner] of methods) {
    const claims = owner.recognizes(request, wire)
    if (claims !== null) presented.push({ method, owner, claims })
  }
  return presented
}

/** Methods that read one proof, each in its way, have a parameter in common. */
function assertOneProof(presented: readonly Presented[]): void {
  for (const { owner: one } of presented)
    for (const { owner: other } of presented)
      if (one !== other && !one.credentials.some((name) => other.credentials.includes(name)))
        throw new OAuthError('invalid_request', 'the client authenticates in two ways at once')
}
