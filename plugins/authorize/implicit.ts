/**
 * The implicit and the hybrid flow (OpenID Connect Core §3.2, §3.3), for old apps: tokens that come with the answer of the
 * authorization endpoint, behind `#`. Off unless OIDC_IMPLICIT says otherwise; `token` alone is served to nobody, since
 * nothing in such an answer says whom it is for (RFC 9700 §2.1.2).
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { AuthorizationRequest } from '../../src/doors/approval.ts'
import type { AskedRequest } from '../../src/doors/authorization-requests.ts'
import type { Call, ClientCall } from '../../src/doors/back-channel.ts'
import type { Client } from '../../src/doors/client.ts'
import type { Granted } from '../../src/doors/facts.ts'
import type { BesideIdToken } from '../../src/doors/id-tokens.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { metadataError, OAuthError } from '../../src/protocol/errors.ts'
import { reason } from '../../src/protocol/message.ts'
import { isLoopbackHost } from '../../src/protocol/redirect-uri.ts'
import { answersWithTokens, asksFor } from '../../src/protocol/response-type.ts'
import { Type } from '../../src/protocol/schema.ts'
import { parseScope } from '../../src/protocol/scope.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import { demandsBinding } from '../../src/services/tokens/demanded-bindings.ts'

const IMPLICIT = 'implicit'
/** §3, each with its words in alphabetical order. */
const RESPONSE_TYPES = ['id_token', 'id_token token', 'code id_token', 'code token', 'code id_token token']

async function implicit(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { audiences, authorizationCodes: codes, config, doors, givenBeside, tokenIssuer } = kernelOf(fastify)
  if (!config.OIDC_IMPLICIT) return
  if (config.production) oauth.extendClientMetadata(Type.Object({}), assertWebAddresses)

  async function idToken(
    granted: Granted,
    { responseType, state }: AuthorizationRequest,
    call: ClientCall,
    beside: BesideIdToken,
  ): Promise<Wire> {
    if (!asksFor('id_token', responseType)) return {}
    const named = state === undefined ? beside : { ...beside, state }
    return { id_token: await oauth.idTokens.issue(granted, call, named) }
  }

  /** `beside`: the code that goes with them. */
  async function tokens(
    granted: Granted,
    request: AuthorizationRequest,
    call: ClientCall,
    beside: BesideIdToken,
  ): Promise<Wire> {
    const own = await codes.createOwn(granted, request)
    const answer = tokenIssuer.issueFor({ ...own, refreshable: false }, issuing(call), async (_of, owned) => {
      const { access_token: accessToken, token_type, expires_in, scope } = owned as Record<string, string>
      return {
        access_token: accessToken,
        token_type,
        expires_in: String(expires_in),
        scope,
        ...(await idToken(granted, request, call, { ...beside, accessToken: accessToken! })),
      }
    })
    return (await answer.catch(refuseEnded)) as Wire
  }

  for (const type of RESPONSE_TYPES)
    oauth.register('responseType', type, {
      defaultMode: 'fragment',
      async respond(granted, request, call) {
        const hasToken = asksFor('token', type)
        if (hasToken && !asksFor('code', type)) return tokens(granted, request, call, {})
        if (!hasToken) await tokenIssuer.assertAllowed(granted, issuing(call)).catch(refuseEnded)
        // Also where nobody gets it: so what has ended is found out, and what the request spends is spent.
        const code = await codes.create(granted, request)
        if (!asksFor('code', type)) return idToken(granted, request, call, {})
        const { spends: _spent, ...rest } = granted
        return { code, ...(await (hasToken ? tokens : idToken)(rest, request, call, { code })) }
      },
    })

  oauth.add('authorizationCheck', {
    name: IMPLICIT,
    check(asked) {
      assertGrant(asked.client, asked.wire['response_type'])
      assertIdTokenParameters(asked)
      assertBearer(
        asked,
        doors.all('senderConstraint').flatMap(({ requestParameter }) => requestParameter ?? []),
      )
    },
    async review({ client, responseType, scopes, resources, parameters }) {
      assertGrant(client, responseType)
      if (!asksFor('token', responseType)) return
      const given = { scopes, beside: givenBeside.asked(parameters) }
      if (demandsBinding(client, await audiences.resolve(client, given, resources))) throw cannotBeBound()
    },
  })
}

/** As it is at the token endpoint, for what looks at what is asked there. */
const issuing = (call: ClientCall): Call => ({ ...call, wire: { grant_type: IMPLICIT } })

/** OpenID Connect Registration §2, where apps are not on the machine of who develops them. */
function assertWebAddresses({ application_type: kind, grant_types: grants, redirect_uris: uris }: Bag): void {
  if (kind === 'native' || !(grants as readonly string[]).includes(IMPLICIT)) return
  const isOfWeb = (uri: string): boolean => {
    const { protocol, hostname } = new URL(uri)
    const host = hostname.replace(/\.$/, '')
    return protocol === 'https:' && !isLoopbackHost(host) && !host.endsWith('.localhost')
  }
  if (!(uris as readonly string[]).every(isOfWeb))
    throw metadataError(
      'redirect_uris',
      reason(
        'must use https and not localhost with the grant type implicit, unless application_type is native',
      ),
    )
}

/** OpenID Connect Registration §2. */
function assertGrant({ grantTypes }: Client, responseType: unknown): void {
  if (answersWithTokens(responseType) && !grantTypes.has(IMPLICIT))
    throw new OAuthError('unauthorized_client', 'the client is not registered for the implicit grant')
}

/** §3.2.2.1, §3.3.2.11: without a nonce nobody could tell a token that was put in from one that was asked for. */
function assertIdTokenParameters({ wire }: AskedRequest): void {
  if (!asksFor('id_token', wire['response_type'])) return
  if (!parseScope(String(wire['scope'] ?? '')).has('openid'))
    throw new OAuthError('invalid_request', 'an ID token needs the scope openid')
  if (wire['nonce'] === undefined)
    throw new OAuthError('invalid_request', 'an ID token in the answer needs a nonce')
}

/** What a browser carries is bound to no key: who asks for that is refused before anybody is asked. */
function assertBearer({ client, wire }: AskedRequest, keyParameters: readonly string[]): void {
  if (!asksFor('token', wire['response_type'])) return
  if (keyParameters.some((name) => wire[name] !== undefined) || demandsBinding(client)) throw cannotBeBound()
}

function cannotBeBound(): OAuthError {
  return new OAuthError(
    'invalid_request',
    'an access token in the answer cannot be bound to a key: ask for a code',
  )
}

/** RFC 6749 §4.2.2.1 knows no `invalid_grant`: what was approved has ended in this very moment. */
function refuseEnded(error: unknown): never {
  if (error instanceof OAuthError && error.code === 'invalid_grant')
    throw new OAuthError('login_required', 'what was allowed ended meanwhile', { cause: error })
  throw error
}

export default fp(implicit, {
  name: 'latchkey-implicit',
  dependencies: ['latchkey-oauth', 'latchkey-code', 'latchkey-openid'],
})
