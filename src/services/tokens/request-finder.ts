/**
 * Finds the request that is named in what was sent, at the registered sources. One may lead to another: a pushed request may
 * hold a request object (RFC 9126 §3).
 */
import type { AskedRequest, RequestSource } from '../../doors/authorization-requests.ts'
import type { Client } from '../../doors/client.ts'
import type { Spend } from '../../doors/facts.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { assertLengths } from '../../protocol/parameters.ts'
import { assertNotRepeated, type SentForm, type Wire, without } from '../../protocol/wire.ts'

/** A request, and what is spent when it is answered. */
export interface FoundRequest extends AskedRequest, SentForm {
  /** Parameters that the client proved when it sent the request. */
  readonly shown?: Wire
  readonly spends?: readonly Spend[]
}

export interface RequestFinder {
  /** `shown`: what the client proves as it sends this by itself. */
  find(client: Client, sent: SentForm, shown?: Wire): Promise<FoundRequest>
}

const NONE: ReadonlySet<string> = new Set()

/** @internal */
export function createRequestFinder(doors: DoorRegistry): RequestFinder {
  /** The one that has it; undefined where it is what was sent itself. */
  function sourceOf(wire: Wire): readonly [string, RequestSource] | undefined {
    const [found, another] = [...doors.owners('requestSource')].filter(([, one]) => one.recognizes(wire))
    if (another !== undefined)
      throw new OAuthError('invalid_request', 'request and request_uri do not go together')
    return found
  }

  async function follow(found: FoundRequest): Promise<FoundRequest> {
    const { client, wire, repeated, sources } = found
    const source = sourceOf(wire)
    if (source === undefined) return withShown(found)
    assertNotRepeated(repeated)
    // RFC 9101 §5.
    if (wire['request'] !== undefined && wire['request_uri'] !== undefined)
      throw new OAuthError('invalid_request', 'request and request_uri do not go together')
    assertLengths(wire)
    const [name, owner] = source
    const sourced = await owner.resolve(wire, client)
    const { wire: resolved, shown, spends = [], sources: through = [], isSigned = found.isSigned } = sourced
    assertOfClient(resolved, client, wire)
    assertNoLoop(resolved, wire)
    const all = [...(found.spends ?? []), ...spends]
    return follow({
      client,
      wire: resolved,
      repeated: NONE,
      sources: [...sources, name, ...through],
      ...(isSigned === undefined ? {} : { isSigned }),
      shown: { ...found.shown, ...shown },
      ...(all.length === 0 ? {} : { spends: all }),
    })
  }

  return {
    find: async (client, { wire, repeated }, shown = {}) => {
      const found = { client, wire: without(wire, doors.credentials), repeated, sources: [], shown }
      return doors.owners('requestSource').size === 0 ? withShown(found) : follow(found)
    },
  }
}

/** RFC 9449 §10.1: what a request says of a key is the key that its client showed. */
function withShown(found: FoundRequest): FoundRequest {
  const { wire, shown = {} } = found
  for (const [name, value] of Object.entries(shown))
    if (wire[name] !== undefined && wire[name] !== value)
      throw new OAuthError('invalid_request', `${name} is another than the request proves`)
  return Object.keys(shown).length === 0 ? found : { ...found, wire: { ...wire, ...shown } }
}

/** RFC 9101 §6.3: in the request and beside it the client_id is one and the same. */
function assertOfClient(resolved: Wire, { clientId }: Client, sent: Wire): void {
  if (resolved['client_id'] !== clientId) throw unusable(sent, 'the request is of another client')
}

/** RFC 9101 §4 and RFC 9126 §2.1: no request names another by request_uri, and no request object holds one. */
function assertNoLoop(resolved: Wire, sent: Wire): void {
  const again = sent['request'] !== undefined && resolved['request'] !== undefined
  if (again || resolved['request_uri'] !== undefined)
    throw unusable(sent, 'the request leads to another request')
}

function unusable(sent: Wire, description: string): OAuthError {
  const code = sent['request'] === undefined ? 'invalid_request_uri' : 'invalid_request_object'
  return new OAuthError(code, description)
}
