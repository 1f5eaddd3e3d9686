/** Where the answer to an authorization request goes, and how: what of it can be told before the request is judged. */
import type { AnsweredRequest } from '../../doors/approval.ts'
import type { Client } from '../../doors/client.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import { singleParameter } from '../../protocol/parameters.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { isRegisteredRedirectUri } from '../../protocol/redirect-uri.ts'
import { answerAskedBy } from '../../protocol/request-object.ts'
import { orderedResponseType } from '../../protocol/response-type.ts'
import type { SentForm } from '../../protocol/wire.ts'

type Owners = Pick<DoorRegistry, 'owners'>

const MAX_STATE = 4096
const MAX_REDIRECT_URI = 2048

/** Says whose it would have to be: who develops the app may look what is registered, and the person at the browser is not told. */
export class UnregisteredRedirectUri extends OAuthError {
  readonly clientId: string

  constructor(clientId: string) {
    super('invalid_request', 'the redirect_uri is not registered for this client, to the letter')
    this.clientId = clientId
  }
}

/** The registered one that was sent. Throws `OAuthError`, which is for the person and not for the client. */
function redirectUriOf(client: Client, { wire, repeated }: SentForm): string {
  const redirectUri = singleParameter('redirect_uri', wire, repeated, MAX_REDIRECT_URI)
  const registered = client.metadata['redirect_uris'] as readonly string[]
  if (!isRegisteredRedirectUri(redirectUri, registered)) throw new UnregisteredRedirectUri(client.clientId)
  return redirectUri
}

/** The mode of answers that ask for none, and `query` where nothing is known of their type. */
export function defaultModeOf(doors: Owners, responseType: string | undefined): string {
  return doors.owners('responseType').get(responseType ?? '')?.defaultMode ?? 'query'
}

/** What is wrong with this mode for answers of this type, in words for the client; undefined for nothing. */
export function problemOfMode(
  doors: Owners,
  mode: string,
  responseType: string | undefined,
): string | undefined {
  const owner = doors.owners('responseMode').get(mode)
  if (owner === undefined) return 'this response_mode is not served here'
  if (owner.inQuery && defaultModeOf(doors, responseType) !== 'query')
    return 'what this response_type asks for must not be in a query'
  return undefined
}

/** Throws as `redirectUriOf`. A type or mode that is not served, or a bad `state`, is for the checks to refuse. */
export function answerAddressOf(client: Client, sent: SentForm, doors: Owners): AnsweredRequest {
  const redirectUri = redirectUriOf(client, sent)
  const { wire, repeated } = sent
  const asked = { ...answerAskedBy(wire['request']), ...wire }
  const single = (name: 'response_type' | 'response_mode' | 'state'): string | undefined => {
    const value = asked[name]
    return typeof value === 'string' && !repeated.has(name) ? value : undefined
  }
  const type = orderedResponseType(single('response_type') ?? '')
  const responseType = doors.owners('responseType').has(type) ? type : undefined
  const [mode, state] = [single('response_mode'), single('state')]
  const usable = mode !== undefined && problemOfMode(doors, mode, responseType) === undefined
  return {
    client,
    redirectUri,
    responseMode: usable ? mode : defaultModeOf(doors, responseType),
    ...(responseType === undefined ? {} : { responseType }),
    ...(state === undefined || state.length > MAX_STATE ? {} : { state }),
  }
}
