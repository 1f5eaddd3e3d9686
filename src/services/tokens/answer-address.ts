/** Where the answer to an authorization request goes, and how: what of it can be told before the request is judged. */
import type { AuthorizationRequest, ResponseMode } from '../../doors/approval.ts'
import type { Client } from '../../doors/client.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { singleParameter } from '../../protocol/parameters.ts'
import { isRegisteredRedirectUri } from '../../protocol/redirect-uri.ts'
import { answerAskedBy } from '../../protocol/request-object.ts'
import type { SentForm } from '../../protocol/wire.ts'

/** Where, how and with what `state` a client wants to be answered. */
export type AnswerAddress = Pick<AuthorizationRequest, 'redirectUri' | 'responseMode' | 'state'>

const DEFAULT_MODE = 'query'
const MAX_STATE = 4096
const MAX_REDIRECT_URI = 2048

/** The registered one that was sent. Throws `OAuthError`, which is for the person and not for the client. */
export function redirectUriOf(client: Client, { wire, repeated }: SentForm): string {
  const redirectUri = singleParameter('redirect_uri', wire, repeated, MAX_REDIRECT_URI)
  const registered = client.metadata['redirect_uris'] as readonly string[]
  if (!isRegisteredRedirectUri(redirectUri, registered))
    throw new OAuthError('invalid_request', 'the redirect_uri is not registered for this client')
  return redirectUri
}

/** Throws as `redirectUriOf`. A mode that is not served, or a bad `state`, is for the checks to refuse. */
export function answerAddressOf(
  client: Client,
  sent: SentForm,
  modes: ReadonlyMap<string, ResponseMode>,
): AnswerAddress {
  const redirectUri = redirectUriOf(client, sent)
  const { wire, repeated } = sent
  const { response_mode: mode, state } = { ...answerAskedBy(wire['request']), ...wire }
  const served = typeof mode === 'string' && modes.has(mode) && !repeated.has('response_mode')
  const usable = typeof state === 'string' && state.length <= MAX_STATE && !repeated.has('state')
  return { redirectUri, responseMode: served ? mode : DEFAULT_MODE, ...(usable ? { state } : {}) }
}
