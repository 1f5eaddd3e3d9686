/** Software statements (RFC 7591 §2.3): metadata of a client that somebody has signed, and whose word for it is taken. */
import type { Bag } from './bag.ts'
import { OAuthError } from './errors.ts'

export interface StatementIssuer {
  readonly issuer: string
  readonly jwksUri: string
}

/** Of the statement itself, and not of the client. */
const CLAIMS: ReadonlySet<string> = new Set(['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti'])

/** `https://directory.example https://directory.example/jwks`; null for anything else. */
export function parseStatementIssuer(text: string): StatementIssuer | null {
  const [issuer = '', jwksUri = '', ...more] = text.trim().split(/\s+/)
  return issuer === '' || more.length > 0 || !URL.canParse(jwksUri) ? null : { issuer, jwksUri }
}

/** What the statement says goes before what stands beside it. */
export function withStatement(metadata: Bag, claims: Bag): Bag {
  const said = Object.entries(claims).filter(([name]) => !CLAIMS.has(name))
  const { redirect_uri: alias, ...others } = metadata
  const hasUris = claims['redirect_uris'] !== undefined
  return {
    ...others,
    ...(alias === undefined || hasUris ? {} : { redirect_uri: alias }),
    ...Object.fromEntries(said),
  }
}

export function invalidStatement(cause: unknown): OAuthError {
  const description =
    'software_statement must be a JWT that its issuer has signed for this server or for all, and that is good now'
  return new OAuthError('invalid_software_statement', description, { cause })
}

export function unapprovedStatement(): OAuthError {
  return new OAuthError(
    'unapproved_software_statement',
    'software_statement is of an issuer that is not trusted here',
  )
}
