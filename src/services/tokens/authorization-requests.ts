/**
 * Authorization requests, from what was sent to what is asked: found where they are, checked, and read as any request for
 * approval is. Who sent them, and where their errors go, is for the endpoint.
 */
import type { AnsweredRequest, AuthorizationRequest } from '../../doors/approval.ts'
import type { AskedRequest } from '../../doors/authorization-requests.ts'
import type { Client } from '../../doors/client.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import { assertLengths } from '../../protocol/parameters.ts'
import { asksFor, orderedResponseType } from '../../protocol/response-type.ts'
import { assertNotRepeated, type SentForm, type Wire } from '../../protocol/wire.ts'
import { answerAddressOf } from './answer-address.ts'
import type { Approvals } from './approval-requests.ts'
import { createRequestFinder, type FoundRequest } from './request-finder.ts'

export interface AuthorizationRequests {
  /** What was sent, or what the source that it names has of it. Throws `OAuthError`. */
  find(client: Client, sent: SentForm): Promise<FoundRequest>
  /** Throws `OAuthError` where nothing may be sent to. */
  addressOf(client: Client, sent: SentForm): AnsweredRequest
  /** Throws `OAuthError`, for the client. */
  read(found: FoundRequest, address: AnsweredRequest): Promise<AuthorizationRequest>
  /** Throws `OAuthError` for an approved request that is not served any more. */
  review(request: AuthorizationRequest): Promise<void>
  /** All of it, for the endpoints of others. */
  parse(wire: Wire, client: Client, options?: ParseRequestOptions): Promise<ParsedRequest>
}

/** A whole request that was read, and how it was found: who keeps it need not open again what it came in. */
export interface ParsedRequest extends AuthorizationRequest {
  readonly asked: AskedRequest
}

export interface ParseRequestOptions {
  /** The key of the caller's own request source, where that will give the request to the authorization endpoint: for checks. */
  readonly source?: string
  /** What the client proves as it sends the request (`oauth.parametersShownBy`). */
  readonly shown?: Wire
}

const NONE: ReadonlySet<string> = new Set()

/** @internal */
export function createAuthorizationRequests(
  doors: DoorRegistry,
  approvals: Approvals,
): AuthorizationRequests {
  const finder = createRequestFinder(doors)
  const addressOf: AuthorizationRequests['addressOf'] = (client, sent) => answerAddressOf(client, sent, doors)

  async function check(asked: AskedRequest): Promise<void> {
    for (const one of doors.all('authorizationCheck')) await one.check(asked)
  }

  const read: AuthorizationRequests['read'] = async (found, address) => {
    const { client, wire, repeated, sources, isSigned, spends } = found
    assertNotRepeated(repeated)
    assertLengths(wire)
    await check(found)
    const { scopes, ...approval } = await approvals.parse(client, wire)
    const responseType = orderedResponseType(wire['response_type'] as string)
    const asked = { ...approval, scopes: scopesFor(responseType, scopes), responseType }
    return {
      ...address,
      ...asked,
      ...(sources.length === 0 ? {} : { sources }),
      ...(isSigned === undefined ? {} : { isSigned }),
      ...(spends === undefined ? {} : { spends }),
    }
  }

  return {
    find: finder.find,
    addressOf,
    read,
    async review(request) {
      for (const one of doors.all('authorizationCheck')) await one.review?.(request)
    },
    async parse(wire, client, { source, shown } = {}) {
      const found = await finder.find(client, { wire, repeated: NONE }, shown)
      const asked = source === undefined ? found : { ...found, sources: [source, ...found.sources] }
      return { ...(await read(asked, addressOf(client, found))), asked }
    },
  }
}

/** OpenID Connect Core §11: without a code, nothing outlives the session. */
function scopesFor(responseType: string, scopes: ReadonlySet<string>): ReadonlySet<string> {
  if (asksFor('code', responseType)) return scopes
  return new Set([...scopes].filter((name) => name !== 'offline_access'))
}
