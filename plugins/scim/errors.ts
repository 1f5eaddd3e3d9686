/** What SCIM refuses, and how it tells that (RFC 7644 §3.12). */
import type { Failure, FailureForm } from '../../src/doors/failure-form.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { inWordsOfScim } from './claims.ts'
import { SCIM_JSON } from './messages.ts'

/** RFC 7644 §3.12, table 9, and RFC 9865 §2.1: with the status that each has. */
const STATUS = {
  invalidFilter: 400,
  tooMany: 400,
  uniqueness: 409,
  mutability: 400,
  invalidSyntax: 400,
  invalidPath: 400,
  noTarget: 400,
  invalidValue: 400,
  invalidCursor: 400,
  invalidCount: 400,
} as const
export type ScimType = keyof typeof STATUS

/** Of which the wire knows a `scimType`; `detail` is a sentence for developers. */
export function scimError(scimType: ScimType, detail: string): OAuthError {
  return new OAuthError(scimType, detail, { status: STATUS[scimType] })
}

/** RFC 7644 §3.12. What a registry refused of one member is `invalidValue`. */
export const FAILURES: FailureForm = {
  type: SCIM_JSON,
  body({ status, code = '', description, member }: Failure) {
    const known = code === 'conflict' ? 'uniqueness' : Object.hasOwn(STATUS, code) ? code : undefined
    const scimType = known ?? (status === 400 && member !== undefined ? 'invalidValue' : undefined)
    return {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      status: String(status),
      ...(scimType === undefined ? {} : { scimType }),
      detail: inWordsOfScim(description, member),
    }
  },
}
