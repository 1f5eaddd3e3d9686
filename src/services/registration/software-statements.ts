/** Which software statements are taken (RFC 7591 §2.3): those of the issuers that OIDC_SOFTWARE_STATEMENT_ISSUERS names. */
import type { Config } from '../../config.ts'
import type { Bag } from '../../protocol/bag.ts'
import { isObject } from '../../protocol/json.ts'
import { decodeSignedJwt, JwtError, type UnverifiedJwt } from '../../protocol/signed-jwt.ts'
import {
  invalidStatement,
  parseStatementIssuer,
  unapprovedStatement,
  withStatement,
  type StatementIssuer,
} from '../../protocol/software-statement.ts'
import type { ClientKeys } from '../clients/client-keys.ts'

/** `iss` says whose it is: it is not for one kind of recipient, and may be of no `typ`. */
const TYPES = [undefined, 'jwt', 'software-statement+jwt']

/**
 * The metadata, with what its `software_statement` says in the place of what stands beside it. One that is `known` was judged when it came.
 * Where no issuer is named, there are no statements: one is left out. Throws `invalid_software_statement` and `unapproved_software_statement`.
 */
export type ApplyStatement = (metadata: unknown, known?: unknown) => Promise<unknown>

type Settings = Pick<Config, 'OIDC_SOFTWARE_STATEMENT_ISSUERS' | 'issuer'>

/** @internal */
export function createApplyStatement(
  { OIDC_SOFTWARE_STATEMENT_ISSUERS: named, issuer: ours }: Settings,
  { verify }: Pick<ClientKeys, 'verify'>,
): ApplyStatement {
  const trusted = named.flatMap((one) => parseStatementIssuer(one) ?? [])

  function issuerOf({ claims }: UnverifiedJwt): StatementIssuer {
    const found = trusted.find(({ issuer }) => issuer === claims['iss'])
    if (found === undefined) throw unapprovedStatement()
    return found
  }

  async function claimsOf(statement: string, isKnown: boolean): Promise<Bag> {
    const unverified = decodeSignedJwt(statement)
    const { issuer, jwksUri } = issuerOf(unverified)
    if (isKnown) return unverified.claims
    return verify({ clientId: issuer, metadata: { jwks_uri: jwksUri } }, statement, {
      types: TYPES,
      audiences: [ours],
      isForAll: true,
      required: [],
      longest: Infinity,
    })
  }

  return async (metadata, known) => {
    if (!isObject(metadata)) return metadata
    const { software_statement: statement, ...beside } = metadata as Bag
    // What is no text is refused with the other members.
    if (typeof statement !== 'string') return metadata
    if (trusted.length === 0) return beside
    try {
      const claims = await claimsOf(statement, statement === known)
      return { ...withStatement(beside, claims), software_statement: statement }
    } catch (error) {
      throw error instanceof JwtError ? invalidStatement(error) : error
    }
  }
}
