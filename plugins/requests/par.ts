/**
 * Pushed authorization requests (RFC 9126): a client sends its request to the server by itself, and the browser brings a
 * reference to it, which is good for a short while to come with, for its client, and for one answer.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { answer } from '../../src/doors/answer.ts'
import type { AuthorizationRequest } from '../../src/doors/approval.ts'
import type { Spend } from '../../src/doors/facts.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { randomText } from '../../src/protocol/random.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import { assertShort, isAnybodys, placeOf } from '../../src/services/clients/anybodys.ts'

/** RFC 9126 §2.2. */
const PREFIX = 'urn:ietf:params:oauth:request_uri:'
const KIND = 'pushed_request'
/** The key of the request source. */
const PUSHED = 'pushed'
/** Seconds that a person who came in time has to sign in and to decide; as long as an interaction lasts. */
const DECIDING = 3600

/** As it is sealed. */
interface Pushed {
  readonly clientId: string
  /** With what a request object in it held, which may expire before the browser comes, and what the client proved. */
  readonly wire: Wire
  /** Those behind this one, and whether the client has signed what they had. */
  readonly sources: readonly string[]
  readonly isSigned?: boolean | undefined
  readonly spends: readonly Spend[]
  /** Until when a browser may come; milliseconds since the epoch. */
  readonly until: number
}

async function par(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { box, config } = kernelOf(fastify)
  const { OIDC_PAR_EXPIRE: lifetime, OIDC_REQUIRE_PAR: isRequired } = config
  const requests = oauth.artifacts<{ sealed: string }>(KIND, { lifetime: lifetime + DECIDING })

  oauth.extendClientMetadata(
    Type.Partial(Type.Object({ require_pushed_authorization_requests: Type.Boolean({ open: true }) })),
  )
  oauth.extend('metadata', async () => ({ require_pushed_authorization_requests: isRequired }))

  /** Answers with its request_uri. `address`: of the client, where anybody may push in its name. */
  async function keep(pushed: Pushed, address: string | undefined): Promise<string> {
    const text = JSON.stringify(pushed)
    if (address !== undefined) assertShort(text)
    const handle = randomText(32, 'base64url')
    const place = address === undefined ? {} : placeOf(box, address)
    await requests.put({ sealed: box.seal(text, contextOf(handle)) }, { handle, ...place })
    return PREFIX + handle
  }

  async function find(handle: string): Promise<Pushed | null> {
    const kept = await requests.get(handle)
    return kept === null ? null : (JSON.parse(box.open(kept.sealed, contextOf(handle))) as Pushed)
  }

  oauth.registerEndpoint({
    path: '/par',
    metadata: 'pushed_authorization_request_endpoint',
    publicClients: true,
    cors: true,
    parameters: Type.Object({}),
    async handle(_parameters, call) {
      const { client, wire, request } = call
      // RFC 9126 §2.1.
      if (wire['request_uri'] !== undefined)
        throw new OAuthError('invalid_request', 'a pushed request has no request_uri')
      const { clientId } = client
      const shown = await oauth.parametersShownBy(call)
      const sent = { ...wire, client_id: clientId }
      const { asked, spends = [] } = await oauth.parseRequest(sent, client, { source: PUSHED, shown })
      const until = Date.now() + lifetime * 1000
      const { wire: found, sources, isSigned } = asked
      const pushed = { clientId, wire: found, sources: sources.slice(1), isSigned, spends, until }
      const uri = await keep(pushed, isAnybodys(client) ? request.ip : undefined)
      return answer({ status: 201, body: { request_uri: uri, expires_in: lifetime } })
    },
  })

  oauth.register('requestSource', PUSHED, {
    recognizes: ({ request_uri: uri }) => typeof uri === 'string' && uri.startsWith(PREFIX),
    async resolve({ request_uri: uri }, { clientId }) {
      const handle = String(uri).slice(PREFIX.length)
      const pushed = await find(handle)
      if (pushed === null || pushed.clientId !== clientId || pushed.until <= Date.now())
        throw new OAuthError('invalid_request_uri', 'the request has expired, or was answered before')
      const { wire, sources, isSigned, spends } = pushed
      return { wire, sources, isSigned, spends: [...spends, { kind: KIND, handle }] }
    },
  })

  function assertPushed({
    client: { metadata },
    sources = [],
  }: Pick<AuthorizationRequest, 'client' | 'sources'>): void {
    const must = isRequired || metadata['require_pushed_authorization_requests'] === true
    if (must && !sources.includes(PUSHED))
      throw new OAuthError('invalid_request', 'the request must be pushed')
  }
  oauth.add('authorizationCheck', { name: 'pushed', check: assertPushed, review: assertPushed })
}

function contextOf(handle: string): string {
  return `pushed request ${handle}`
}

export default fp(par, { name: 'latchkey-par', dependencies: ['latchkey-oauth', 'latchkey-authorize'] })
