/** What is made of the issuers that are trusted, put together: which JWTs of theirs are good, who their subjects are here, and when they came. */
import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../../store/database.ts'
import type { ClientKeys } from '../clients/client-keys.ts'
import type { UserFinder } from '../users/user-finder.ts'
import { createAssertions, type Assertions } from './assertions.ts'
import { createFindMapped, type FindMapped } from './mapped-subjects.ts'
import type { TrustedIssuerRegistry } from './trusted-issuer-registry.ts'
import { createTrustedIssuerUses, type TrustedIssuerUses } from './trusted-issuer-uses.ts'

export interface TrustedIssuerServices {
  readonly trustedIssuers: TrustedIssuerRegistry
  readonly trustedIssuerUses: TrustedIssuerUses
  /** JWTs of trusted issuers, and who their subjects are here. */
  readonly assertions: Assertions
  readonly findMapped: FindMapped
}

/** @internal */
export interface TrustedIssuerServicesOptions {
  issuer: string
  database: Database
  trustedIssuers: TrustedIssuerRegistry
  clientKeys: ClientKeys
  users: Pick<UserFinder, 'find' | 'findByEmail' | 'get'>
  log: FastifyBaseLogger
}

/** @internal */
export function createTrustedIssuerServices(options: TrustedIssuerServicesOptions): TrustedIssuerServices {
  const { issuer, database, trustedIssuers, clientKeys, users, log } = options
  const trustedIssuerUses = createTrustedIssuerUses(database, log)
  const audiences = [issuer, `${issuer}/token`]
  return {
    trustedIssuers,
    trustedIssuerUses,
    assertions: createAssertions({
      issuers: trustedIssuers,
      uses: trustedIssuerUses,
      keys: clientKeys,
      audiences,
    }),
    findMapped: createFindMapped(database, users),
  }
}
