import { OAuthError } from '../../src/protocol/errors.ts'

/** For what the path of an operation names: `what` follows “there is no”. */
export function notFound(what: string): OAuthError {
  return new OAuthError('not_found', `there is no ${what} here`, { status: 404 })
}
