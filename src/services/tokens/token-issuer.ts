/**
 * The only mint. It turns what a grant established into tokens: checks again that all of it is the client's,
 * prepares everything that can fail, and then spends and stores in one transaction. A crash leaves either
 * everything as it was, or everything done.
 */
import type { Call } from '../../doors/back-channel.ts'
import type { Client } from '../../doors/client.ts'
import type { Authorization, Granted } from '../../doors/facts.ts'
import type { Parent } from '../../protocol/facts.ts'
import type { Bag } from '../../protocol/bag.ts'
import type { NewEvent } from '../../events.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { secondsLeft } from '../../protocol/seconds-left.ts'
import { createUuid } from '../../protocol/uuid.ts'
import { formatScope, OPENID_SCOPES } from '../../protocol/scope.ts'
import type { SignAccessToken } from './access-token-signer.ts'
import type { Audiences, TokenTerms } from './audiences.ts'
import type { GivenBeside } from './given-beside.ts'
import type { AuditTrail } from '../audit/audit.ts'
import { AUTHORIZATION_ID } from './names.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import type { StoreIssuance } from './issue-transaction.ts'
import { assertBound, boundAsDemanded, boundFromNowOn } from './demanded-bindings.ts'
import { authorizationOf } from './new-authorization.ts'
import { createOpaqueToken } from './opaque-tokens.ts'
import type { ParentClaims } from './parent-claims.ts'
import type { Parents } from './parents.ts'
import type { RefreshTokens } from './refresh-tokens.ts'
import { assertSubject, type SubjectOf } from './subjects.ts'

export interface TokenIssuer {
  /** The token response of RFC 6749 §5.1. Throws `OAuthError`; nothing is spent then. */
  issue(granted: Granted, call: Call): Promise<Bag>
  /** The same for another answer: what `answer` makes of the members that are the server's own. */
  issueFor(granted: Granted, call: Call, answer: MakeAnswer): Promise<Bag>
  /** What is told of somebody by another thing than an access token, as an ID token alone does: it is granted by the same policies. Throws `OAuthError`. */
  assertAllowed(granted: Granted, call: Call): Promise<void>
}

/** Called before anything is spent or stored. */
export type MakeAnswer = (authorization: Authorization, owned: Bag) => Promise<Bag>

export interface TokenIssuerOptions {
  issuer: string
  doors: DoorRegistry
  audiences: Audiences
  subjectOf: SubjectOf
  givenBeside: GivenBeside
  sign: SignAccessToken
  parents: Parents
  parentClaims: ParentClaims
  refreshTokens: RefreshTokens
  store: StoreIssuance
  audit: AuditTrail
}

export function createTokenIssuer(options: TokenIssuerOptions): TokenIssuer {
  const {
    issuer,
    doors,
    audiences,
    givenBeside,
    subjectOf,
    sign,
    parents,
    parentClaims,
    refreshTokens,
    store,
    audit,
  } = options

  const mayRefresh = ({ refreshable, subject }: Granted, client: Client): boolean =>
    refreshable === true &&
    subject !== undefined &&
    client.grantTypes.has('refresh_token') &&
    doors.grants.has('refresh_token')

  /** One that can be used with a key alone, or by a client that proves itself, stays as it is: stolen, it is good for nobody. */
  function refreshTokenOf({ id }: Authorization, { continues }: Granted): string {
    if (continues?.authorization.binding !== undefined) return continues.refreshToken
    return refreshTokens.create(id!, continues?.refreshToken)
  }

  /** Refuses what was granted for something that has ended meanwhile. */
  async function assertStanding(parent: Parent): Promise<void> {
    if (!(await parents.stand(parent))) throw hasEnded()
  }

  /** Of what this access token is for, and of all that was approved. */
  async function termsOf(
    granted: Granted,
    client: Client,
  ): Promise<{ terms: TokenTerms; approved: TokenTerms }> {
    const { scopes, resources, approvedResources, continues } = granted
    const { parameters, approvedParameters = parameters } = granted
    const within = continues?.authorization.resources
    const all = { scopes, beside: givenBeside.kept(approvedParameters) }
    // What was approved may be gone meanwhile; what is asked for now must be there.
    const had = approvedResources === undefined ? resources : await audiences.left(all, approvedResources)
    const approved = await audiences.resolve(client, all, had, within)
    const isForAll = approvedResources === undefined || approvedResources === resources
    const isLess = parameters !== approvedParameters
    if (isForAll && !isLess) return { terms: approved, approved }
    const given = isLess ? { scopes, beside: givenBeside.kept(parameters) } : all
    const asked = isForAll ? [] : resources
    return { terms: await audiences.resolve(client, given, asked, approved.audience), approved }
  }

  const constraints = () => doors.all('senderConstraint')

  /** Clients send aliases too: what is decided and stored is by the registered identifiers. */
  async function named(granted: Granted): Promise<Granted> {
    const { resources: sent, approvedResources } = granted
    if (sent.length === 0) return granted
    const resources = await audiences.registered(sent)
    return { ...granted, resources, ...(approvedResources === sent && { approvedResources: resources }) }
  }

  /** As it stands now. Throws what policies say. */
  async function allowed(given: Granted, call: Call): Promise<Granted> {
    assertSubject(given)
    const shown = givenBeside.reviewGranted(await named(given), call.client)
    for (const policy of doors.all('policy')) await policy(shown, call)
    return shown
  }

  const issueFor: TokenIssuer['issueFor'] = async (given, call, answer) => {
    const { client } = call
    const shown = await allowed(given, call)
    assertScopes(shown, call, givenBeside)
    const { terms, approved } = await termsOf(shown, client)
    const said = givenBeside.within(shown, terms.audience)
    const granted = boundAsDemanded(said, client, terms, constraints)
    assertBound(granted, client, terms, constraints)
    const authorization = authorizationOf(granted, client, subjectOf)
    const { parent, notAfter } = authorization
    if (parent !== undefined) await assertStanding(parent)
    const issuerOfParent = parent === undefined ? undefined : await parents.issuerOf(parent)

    const now = Date.now()
    const iat = Math.floor(now / 1000)
    const lifetime = Math.floor(secondsLeft(notAfter, terms.lifetime, now))
    if (notAfter !== undefined && lifetime < 1) throw hasEnded()
    const { scopes, subject, subjectClient, authentication } = granted
    const { audience } = terms
    const scope = scopes.size === 0 ? undefined : formatScope(scopes)
    const claims = await doors.withContributions(
      'access_token',
      authorization,
      {
        iss: issuer,
        sub: subject === undefined ? (subjectClient ?? client.clientId) : subjectOf(subject, client),
        aud: audience.length === 1 ? audience[0] : audience,
        client_id: client.clientId,
        scope,
        iat,
        exp: iat + lifetime,
        jti: createUuid(now),
        // Owned also where there is none, so that no contribution can name one.
        [AUTHORIZATION_ID]: authorization.id,
        // Of the person's sign-in (RFC 9068 §2.2.1, RFC 9470 §6).
        auth_time: authentication && Math.floor(authentication.time / 1000),
        acr: authentication?.acr,
        act: authorization.actor,
        cnf: granted.binding?.cnf,
        // A token whose Authorization is stored says it there.
        parent:
          authorization.id !== undefined || parent === undefined ? undefined : parentClaims.write(parent),
      },
      call,
    )
    const opaque = terms.format === 'opaque' ? createOpaqueToken(authorization.id) : undefined
    const accessToken = opaque ?? (await sign(claims))
    const refreshToken = mayRefresh(granted, client) ? refreshTokenOf(authorization, granted) : undefined
    const response = await answer(authorization, {
      ...granted.response,
      // In the two spellings of the seed specification (§2); it is compared without case (RFC 6749 §5.1).
      token_type: granted.binding?.tokenType ?? (subject === undefined ? 'Bearer' : 'bearer'),
      access_token: accessToken,
      expires_in: lifetime,
      refresh_token: refreshToken,
      scope,
    })

    const handedOut = await store({
      authorization,
      granted,
      authenticated: !client.isPublic(),
      binds: boundFromNowOn(said, client, terms, constraints),
      audience: approved.audience,
      refreshToken,
      opaque: opaque === undefined ? undefined : { token: opaque, claims },
    }).catch((error: unknown) => {
      const refused = granted.spends?.find(({ refusal }) => refusal !== undefined && refusal === error)
      if (refused?.refused !== undefined) audit.observe(refused.refused)
      throw error
    })
    audit.observe(issued(authorization, call, issuerOfParent))
    return handedOut === refreshToken ? response : { ...response, refresh_token: handedOut }
  }

  return {
    async assertAllowed(granted, call) {
      await allowed(granted, call)
    },
    issueFor,
    issue: async (granted, call) =>
      issueFor(granted, call, async (authorization, owned) =>
        doors.withContributions('tokenResponse', authorization, owned, call),
      ),
  }
}

function issued(
  { id, clientId, subject, parent, actor }: Authorization,
  { wire }: Call,
  issuer: string | undefined,
): NewEvent {
  const details = {
    grant_type: String(wire['grant_type'] ?? ''),
    ...(id === undefined ? {} : { authorization: id }),
    ...(parent === undefined || issuer !== undefined ? {} : { of: parent.clientId }),
    ...(issuer === undefined ? {} : { issuer }),
    ...(actor === undefined ? {} : { actor: actor.sub }),
  }
  return { type: 'token.issued', client: clientId, user: subject, details }
}

function hasEnded(): OAuthError {
  return new OAuthError('invalid_grant', 'what it is granted for has ended')
}

/** No grant, ours or a stranger's, gives a client what is not registered for it. */
function assertScopes(
  { scopes, subject, continues, parameters }: Granted,
  { client }: Call,
  givenBeside: GivenBeside,
): void {
  if (scopes.size === 0 && givenBeside.kept(parameters) === undefined)
    throw new OAuthError('invalid_scope', 'nothing would be granted')
  for (const scope of scopes) {
    const ofUsers = subject !== undefined && OPENID_SCOPES.has(scope)
    const approved = continues === undefined || continues.authorization.scopes.has(scope)
    if (!approved || !(ofUsers || client.grantableScopes.has(scope)))
      throw new OAuthError('invalid_scope', 'the client may not have this scope')
  }
}
