/**
 * The UserInfo endpoint (OpenID Connect Core §5.3): claims about the user whom an access token stands for. The token
 * may come in the header, in a form, or in the query, which is our user's own way (seed specification §4.3).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, preHandlerAsyncHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { isAnswer } from '../src/doors/answer.ts'
import type { Client } from '../src/doors/client.ts'
import type { Authorization } from '../src/doors/facts.ts'
import type { Bag } from '../src/protocol/bag.ts'
import { approvedClaims, requestedClaims } from '../src/protocol/claims-request.ts'
import { claimsForScopes } from '../src/protocol/claims.ts'
import { assertEncrypted } from '../src/protocol/encryption.ts'
import { parseForm } from '../src/protocol/wire.ts'
import { formsOf } from '../src/services/representations.ts'
import { userClaims, type User } from '../src/services/users/user.ts'
import { sendAnswer, sendJson } from '../src/http/answers.ts'
import { allowBrowsers } from '../src/http/cors.ts'
import { refuseOtherMethods, withSlash } from '../src/http/methods.ts'
import { sending } from '../src/http/ready-text.ts'
import { represent } from '../src/http/representations.ts'
import { sendError } from '../src/http/errors.ts'
import { acceptForms, formText, queryText } from '../src/http/forms.ts'
import { kernelOf } from '../src/http/kernel-of.ts'
import type { AccessToken } from './require-scope/access-token.ts'
import { BearerError } from './require-scope/bearer-error.ts'
import { readDemand } from './require-scope/authentication.ts'
import { createGuard, verifiedToken } from './require-scope/guard.ts'
import { createOwnVerifier, ownConstraints } from './resource-server.ts'

/** A token of a user. */
interface UserToken extends AccessToken {
  readonly authorization: Authorization
  readonly user: User
  readonly client: Client
}

/** What a token must have to be taken here (§5.3.1, §3.1.2.1). */
const SCOPE = 'openid'
const PATH = '/userinfo'

async function userinfo(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { issuer } = oauth
  const { doors, profiles, signJwt } = kernelOf(fastify)
  const verifier = createOwnVerifier(oauth, async ({ authorization }, { scopes }) => {
    // The guard refuses it for its scope (RFC 6750 §3.1), whomever it stands for: a token that a client got for itself, say.
    if (!scopes.has(SCOPE)) return {}
    const user = authorization?.subject === undefined ? null : await oauth.findUser(authorization.subject)
    const client = authorization === undefined ? null : await oauth.findClient(authorization.clientId)
    if (authorization === undefined || user === null || user.disabled || client === null)
      throw new BearerError('invalid_token', 'The access token stands for nobody')
    return { authorization, user, client }
  })
  let takesQuery = true
  // Profiles are there once all plugins are.
  fastify.addHook('onReady', async () => {
    takesQuery = mayBeInQuery(profiles.served({}))
  })
  const policy = {
    verifier,
    audienceOf: () => [issuer],
    realm: issuer,
    get queryParameter() {
      return takesQuery
    },
    // One without the scope, which is refused, has no client here.
    mayBeInQuery: (token: AccessToken) => mayBeInQuery((token as Partial<UserToken>).client?.metadata),
    senderConstraints: ownConstraints(fastify),
    resourceMetadata: undefined,
    now: Date.now,
  }

  oauth.add('representation', {
    name: 'signed_userinfo',
    of: PATH,
    applies: ({ client }) => algorithmOf(client) !== undefined,
    /** §5.3.2: a signed response says who made it, and for whom. */
    async render({ body }, { client }) {
      const claims = { ...body, iss: issuer, aud: client!.clientId }
      const text = await signJwt(claims, { algorithm: algorithmOf(client)!, typ: 'JWT' })
      return { text, type: 'application/jwt' }
    },
  })
  const formsFor = formsOf(doors, PATH)

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const token = (request as { [verifiedToken]?: AccessToken })[verifiedToken] as UserToken
    const { user, client, scopes } = token
    // The token may have fewer than what it comes of (RFC 6749 §6): it tells no more than they allow.
    const authorization = { ...token.authorization, scopes }
    const call = { request, reply, client }
    const claims = userClaims(user)
    const requested = approvedClaims(authorization.parameters)
    const body = await doors.withContributions(
      'userinfo',
      authorization,
      {
        sub: token.subject,
        ...claimsForScopes(claims, scopes),
        ...(requested === undefined ? {} : requestedClaims(requested, 'userinfo', claims)),
      },
      call,
    )
    const forms = formsFor(call)
    const shown = forms.length === 0 ? undefined : await represent(body, forms, call)
    assertEncrypted(client.metadata, 'userinfo', shown && isAnswer(shown) ? shown.text : undefined)
    if (shown === undefined) sendJson(reply, body)
    else sendAnswer(reply, shown)
  }

  const handler = sending(handle)
  allowBrowsers(fastify)
  await acceptForms(fastify)
  fastify.setErrorHandler(sendError)
  // Not async: it runs before every request.
  fastify.addHook('preValidation', (request, _reply, done) => {
    request.body = parseForm(formText(request))
    request.query = parseForm(queryText(request))
    done()
  })
  fastify.addHook(
    'preHandler',
    createGuard(policy, { scopes: [SCOPE], demand: readDemand() }) as preHandlerAsyncHookHandler,
  )
  for (const url of withSlash(fastify, PATH)) {
    fastify.get(url, handler)
    fastify.post(url, handler)
    refuseOtherMethods(fastify, url, ['PUT', 'PATCH', 'DELETE', 'OPTIONS'], 'GET, HEAD, POST')
  }
  oauth.extend('metadata', async () => ({
    userinfo_endpoint: issuer + PATH,
    userinfo_signing_alg_values_supported: oauth.keys.algorithms,
  }))
}

/** OAuth 2.1 §5.1, FAPI 2.0 Security Profile §5.3.4: addresses are logged. */
function mayBeInQuery(metadata: Bag = {}): boolean {
  return metadata['access_token_in_query'] !== false
}

function algorithmOf(client: Client | undefined): string | undefined {
  return client?.metadata['userinfo_signed_response_alg'] as string | undefined
}

export default fp(userinfo, {
  name: 'latchkey-userinfo',
  dependencies: ['latchkey-oauth', 'latchkey-openid'],
  encapsulate: true,
})
