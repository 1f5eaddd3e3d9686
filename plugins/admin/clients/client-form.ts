/** The form for a client's metadata, shown and sent, whether the client is there already or not. */
import { message } from '../../../src/protocol/message.ts'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { SIGNATURE_ALGORITHMS } from '../../../src/protocol/jwk-set.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { CIBA } from '../../../src/services/clients/client-kinds.ts'
import type { PageCall } from '../../pages/index.ts'
import { reachableAcr } from '../../login/asked-acr.ts'
import { problemsIn } from '../../pages/words.ts'
import { PASSWORD_ACR } from '../../password/check.ts'
import { answerChoices } from './answer-choices.ts'
import { groupsOf, isField, problemsOf, type Errors, type Served, type Values } from './client-fields.ts'
import type { ClientForm } from './client-models.ts'
import type { OwnArea } from '../area.ts'

/** A list of scopes may be longer than what one request asks for. */
export const LongFields = { scope: Type.Optional(Type.String({ maxLength: 32_768 })) }

/** The key of an error that belongs to no field. */
export const FORM = ''

interface FormContent {
  path: string
  subject: string
  values: Values
  errors: Errors
  /** What nobody has to look at; by default what is empty. */
  usual?: Values
}

export function clientForm(
  area: OwnArea,
  call: PageCall,
  { path, subject, values, errors, usual = {} }: FormContent,
): ClientForm {
  return {
    ...area.target(call, path, subject),
    groups: groupsOf(values, errors, servedBy(area), usual),
    error:
      Object.keys(errors).length === 0
        ? null
        : (errors[FORM] ?? message('Please look at the marked fields.')),
  }
}

/** What is so without being chosen is left out. */
function servedBy({ oauth, kernel }: OwnArea): Served {
  return {
    ...answerChoices(kernel),
    token_endpoint_auth_method: [...oauth.owners('clientAuthentication').keys(), 'none'],
    access_token_format: ['jwt', 'opaque'],
    dpop_bound_access_tokens: boundBy(kernel, 'jkt'),
    tls_client_certificate_bound_access_tokens: boundBy(kernel, 'x5t#S256'),
    require_pushed_authorization_requests: oauth.owners('requestSource').has('pushed') ? ['true'] : [],
    backchannel_token_delivery_mode: kernel.doors.grants.has(CIBA) ? ['ping'] : [],
    backchannel_authentication_request_signing_alg: kernel.doors.grants.has(CIBA) ? SIGNATURE_ALGORITHMS : [],
    require_consent: ['false'],
    show_logo: ['true', 'false'],
    minimum_acr_value: reachableAcr(kernel.doors).filter((one) => one !== PASSWORD_ACR),
    subject_type: [...oauth.owners('subjectType').keys()].filter((type) => type !== 'public'),
    backchannel_logout_session_required: oauth.owners('delivery').has('backchannel-logout') ? ['true'] : [],
  }
}

/** Where somebody can bind a token so. */
function boundBy({ doors }: OwnArea['kernel'], confirmation: string): string[] {
  return doors.all('senderConstraint').some((one) => one.confirmation === confirmation) ? ['true'] : []
}

/** What `work` gives, or what is wrong with what was typed; nothing is done while something is. */
export async function attempt<T extends object>(
  values: Values,
  work: () => Promise<T>,
): Promise<T | { errors: Errors }> {
  const errors = problemsOf(values)
  if (Object.keys(errors).length > 0) return { errors }
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof OAuthError) || error.status !== 400) throw error
    return { errors: problemsIn(error, (member) => (isField(member) ? member : undefined), FORM) }
  }
}
