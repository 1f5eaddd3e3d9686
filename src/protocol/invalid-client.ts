/** The refusal of a client that has not proven who it is (RFC 6749 §5.2). */
import { OAuthError } from './errors.ts'

/** `description` must be the same whether there is such a client or not. */
export function invalidClient(issuer: string, description = 'client authentication failed'): OAuthError {
  return new OAuthError('invalid_client', description, {
    headers: { 'www-authenticate': `Basic realm="${issuer}", charset="UTF-8"` },
  })
}
