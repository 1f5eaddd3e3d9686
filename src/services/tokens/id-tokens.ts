/** Mints ID tokens (OpenID Connect Core §2): what the server says of a sign-in, and of the user as far as it was asked for. */
import type { Client } from '../../doors/client.ts'
import type { Authorization } from '../../doors/facts.ts'
import type { BesideIdToken, IdTokens } from '../../doors/id-tokens.ts'
import { endOf } from '../../doors/parents.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import type { Bag } from '../../protocol/bag.ts'
import { approvedClaims, requestedClaims } from '../../protocol/claims-request.ts'
import { claimsForScopes, type Claims } from '../../protocol/claims.ts'
import { assertEncrypted } from '../../protocol/encryption.ts'
import { tokenHash } from '../../protocol/token-hash.ts'
import type { Directory } from '../directory.ts'
import { formsOf, renderAs } from '../representations.ts'
import { userClaims } from '../users/user.ts'
import type { SignJwt } from './jwt-signer.ts'
import type { SubjectOf } from './subjects.ts'

export interface IdTokensOptions {
  issuer: string
  /** Seconds. */
  lifetime: number
  /** Whether claims that come of scopes are in the ID token too, where the client's registration does not say. */
  includeClaims: boolean
  doors: DoorRegistry
  findUser: Directory['findUser']
  subjectOf: SubjectOf
  sign: SignJwt
}

/** Registration §2: what many clients accept alone. */
const DEFAULT_ALGORITHM = 'RS256'

/** @internal */
export function createIdTokens(options: IdTokensOptions): IdTokens {
  const { issuer, lifetime, includeClaims, doors, findUser, subjectOf, sign } = options
  const formsFor = formsOf(doors, 'id_token')

  /** Those of scopes, and those that were asked for one by one. */
  async function claimsOfUser(
    { subject, scopes, parameters }: Authorization,
    { metadata }: Client,
    { code, accessToken }: BesideIdToken,
  ): Promise<Claims> {
    const user = await findUser(subject!)
    if (user === null) return {}
    const claims = userClaims(user)
    const wanted = (metadata['id_token_include_claims'] as boolean | undefined) ?? includeClaims
    // OpenID Connect Core §5.4: without an access token, nothing else would ever tell them.
    const included = code === undefined && (wanted || accessToken === undefined)
    const requested = approvedClaims(parameters)
    return {
      ...(included ? claimsForScopes(claims, scopes) : {}),
      ...(requested === undefined ? {} : requestedClaims(requested, 'id_token', claims)),
    }
  }

  /** What the server itself says (§2). A refreshed ID token has no nonce (§12.2). */
  function ownClaims(authorization: Authorization, client: Client): Bag {
    const { subject, authentication, parameters, continues } = authorization
    const iat = Math.floor(Date.now() / 1000)
    return {
      iss: issuer,
      sub: subjectOf(subject!, client),
      aud: client.clientId,
      iat,
      exp: Math.min(iat + lifetime, Math.floor((endOf(authorization) ?? Infinity) / 1000)),
      auth_time: authentication && Math.floor(authentication.time / 1000),
      nonce: continues === undefined ? parameters?.['nonce'] : undefined,
      acr: authentication?.acr,
      amr: authentication?.amr,
      sid: authentication?.sid,
    }
  }

  return {
    async issue(granted, call, beside = {}) {
      if (granted.subject === undefined) throw new TypeError('an ID token is about a user')
      const { client } = call
      const authorization = 'clientId' in granted ? granted : { ...granted, clientId: client.clientId }
      const algorithm =
        (client.metadata['id_token_signed_response_alg'] as string | undefined) ?? DEFAULT_ALGORITHM
      const hashed = (text: string | undefined) =>
        text === undefined ? undefined : tokenHash(text, algorithm)
      const owned = {
        ...(await claimsOfUser(authorization, client, beside)),
        ...ownClaims(authorization, client),
        at_hash: hashed(beside.accessToken),
        c_hash: hashed(beside.code),
        s_hash: hashed(beside.state),
      }
      const body = await doors.withContributions('id_token', authorization, owned, call)
      const text = await sign(body, { algorithm })
      const forms = formsFor(call)
      const shown =
        forms.length === 0 ? text : (await renderAs(forms, { body, text, type: 'JWT' }, call)).text
      assertEncrypted(client.metadata, 'id_token', shown)
      return shown
    },
  }
}
