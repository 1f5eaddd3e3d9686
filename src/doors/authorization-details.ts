/** What rich authorization requests (RFC 9396) ask for, type by type. */
import type { TObject } from 'typebox'
import type { AuthorizationDetail } from '../protocol/authorization-details.ts'
import type { Words } from '../protocol/message.ts'

/** A type of authorization details; its key is the `type`. */
export interface AuthorizationDetailsType {
  /** Of all members beside `type`: a member that it does not have is refused (RFC 9396 §5). */
  readonly schema: TObject
  /** For people who are asked whether they allow it: all that it gives. */
  describe(detail: AuthorizationDetail): Words
  /** Whether it is allowed for one request alone, as a payment is, and asked for each time. Default false. */
  readonly once?: boolean
  /**
   * Whether a client that acts for itself gets it by asking (RFC 9396 §6, `client_credentials`), where it is allowed the type: nobody
   * reads it then. Default false.
   */
  readonly withoutPeople?: boolean
  /**
   * Whether `less` gives nothing that `approved` of the same type does not, where a token request asks for less. By default it has the
   * same members, of lists fewer items, and of all else the same.
   */
  isWithin?(less: AuthorizationDetail, approved: AuthorizationDetail): boolean
}
