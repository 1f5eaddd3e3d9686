/** Everything that makes tokens, reads them and ends them, put together in the order of their needs. */
import type { Config } from '../../config.ts'
import type { IdTokens } from '../../doors/id-tokens.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import type { Database } from '../../store/database.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { ChangeFeed } from '../change-feed.ts'
import type { Directory } from '../directory.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import { createAccessTokenSigner } from './access-token-signer.ts'
import { createApprovals, type Approvals } from './approval-requests.ts'
import { createAudiences, type Audiences } from './audiences.ts'
import { createAuthorizationRequests, type AuthorizationRequests } from './authorization-requests.ts'
import { createAuthorizationCodes, type AuthorizationCodes } from './authorization-codes.ts'
import { createAuthorizations, type Authorizations } from './authorizations.ts'
import { createGivenBeside, type GivenBeside } from './given-beside.ts'
import { createIdTokens } from './id-tokens.ts'
import { createIssueTransaction } from './issue-transaction.ts'
import { createJwtSigner, type SignJwt } from './jwt-signer.ts'
import { createOwed } from './owed.ts'
import { createOwedApprovals, type OwedApprovals, type Try } from './owed-approvals.ts'
import { createOwnJwtVerifier, type OwnJwtVerifier } from './own-jwt-verifier.ts'
import { createParentClaims } from './parent-claims.ts'
import { createParents, type Parents, type ReadTrusted } from './parents.ts'
import { createRequestParameters, type RequestParameters } from './request-parameters.ts'
import { createRefreshTokens, type RefreshTokens } from './refresh-tokens.ts'
import { createReplayEnding, type EndReplayed } from './replays.ts'
import { createRevocations, type Revocations } from './revocations.ts'
import { createArtifactOf, createSpendArtifact, type SpendArtifact } from './spent-artifacts.ts'
import { createSubjects, type SubjectOf } from './subjects.ts'
import { createTokenIssuer, type TokenIssuer } from './token-issuer.ts'
import { createTokenRevoker, type TokenRevoker } from './token-revoker.ts'
import { createTokenVerifier, type TokenVerifier } from './token-verifier.ts'

export interface TokenServices {
  readonly audiences: Audiences
  readonly givenBeside: GivenBeside
  readonly approvals: Approvals
  readonly requestParameters: RequestParameters
  readonly authorizationRequests: AuthorizationRequests
  readonly spendArtifact: SpendArtifact
  readonly subjectOf: SubjectOf
  readonly signJwt: SignJwt
  readonly idTokens: IdTokens
  readonly ownJwts: OwnJwtVerifier
  readonly authorizationCodes: AuthorizationCodes
  readonly refreshTokens: RefreshTokens
  readonly owedApprovals: OwedApprovals
  readonly endReplayed: EndReplayed
  readonly authorizations: Authorizations
  readonly revocations: Revocations
  readonly parents: Parents
  readonly tokenIssuer: TokenIssuer
  readonly verifier: TokenVerifier
  readonly revoker: TokenRevoker
}

export interface TokenServicesOptions {
  config: Config
  database: Database
  doors: DoorRegistry
  audit: AuditTrail
  feed: ChangeFeed
  directory: Directory
  keys: KeyRing
  box: SecretBox
  trusted: ReadTrusted
}

export function createTokenServices(options: TokenServicesOptions): TokenServices {
  const { config, database, doors, audit, feed, directory, keys, box, trusted } = options
  const { issuer } = config
  const audiences = createAudiences(directory, {
    issuer,
    lifetime: config.OIDC_TOKEN_EXPIRE,
    defaultResource: config.OIDC_DEFAULT_RESOURCE,
  })
  const requestParameters = createRequestParameters(doors)
  const givenBeside = createGivenBeside(doors)
  const approvals = createApprovals(doors, requestParameters, directory, audiences, givenBeside)
  const spendArtifact = createSpendArtifact(box)
  const subjectOf = createSubjects(doors)
  const signJwt = createJwtSigner(keys, config.OIDC_SIGN_SYNCHRONOUSLY)
  const ownJwts = createOwnJwtVerifier(keys, issuer)
  const endReplayed = createReplayEnding(audit)
  const refreshTokens = createRefreshTokens({
    database,
    box,
    reuseInterval: config.OIDC_REFRESH_REUSE_INTERVAL,
    idle: config.OIDC_REFRESH_TOKEN_IDLE,
    expire: config.OIDC_REFRESH_TOKEN_EXPIRE,
  })
  const revocations = createRevocations(database, feed)
  const parents = createParents({ database, directory, revocations, trusted })
  const parentClaims = createParentClaims(box)
  const verifier = createTokenVerifier({
    database,
    feed,
    directory,
    keyRing: keys,
    ownJwts,
    revocations,
    parents,
    parentClaims,
  })
  const revoker = createTokenRevoker(audit, verifier, revocations)

  return {
    audiences,
    givenBeside,
    approvals,
    requestParameters,
    authorizationRequests: createAuthorizationRequests(doors, approvals),
    spendArtifact,
    subjectOf,
    signJwt,
    idTokens: createIdTokens({
      issuer,
      lifetime: config.OIDC_IDTOKEN_EXPIRE,
      includeClaims: config.OIDC_IDTOKEN_INCLUDE_CLAIMS,
      doors,
      findUser: directory.findUser,
      subjectOf,
      sign: signJwt,
    }),
    ownJwts,
    authorizationCodes: createAuthorizationCodes({
      database,
      lifetime: config.OIDC_CODE_EXPIRE,
      endReplayed,
      refreshTokens,
      owed: createOwed<string>(),
      spendArtifact,
      artifactOf: createArtifactOf(box),
    }),
    refreshTokens,
    owedApprovals: createOwedApprovals(database, refreshTokens, createOwed<Try>()),
    endReplayed,
    authorizations: createAuthorizations(database, revoker),
    revocations,
    parents,
    tokenIssuer: createTokenIssuer({
      issuer,
      doors,
      audiences,
      givenBeside,
      subjectOf,
      sign: createAccessTokenSigner(signJwt),
      parents,
      parentClaims,
      refreshTokens,
      store: createIssueTransaction(database, endReplayed, spendArtifact, refreshTokens),
      audit,
    }),
    verifier,
    revoker,
  }
}
