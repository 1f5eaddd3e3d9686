/** The form for a client's metadata, shown and sent, whether the client is there already or not. */
import { Type } from 'typebox'
import { OAuthError } from '../../../src/protocol/errors.ts'
import type { PageCall } from '../../pages/index.ts'
import { sentence } from '../../pages/words.ts'
import { groupsOf, isField, wrongLines, type Errors, type Values } from './client-fields.ts'
import type { ClientForm } from './client-models.ts'
import type { Desk } from '../desk.ts'

/** A list of scopes may be longer than what one request asks for. */
export const LongFields = { scope: Type.Optional(Type.String({ maxLength: 32_768 })) }

/** The key of an error that belongs to no field. */
export const FORM = ''

export function clientForm(
  desk: Desk,
  call: PageCall,
  { path, subject, values, errors }: { path: string; subject: string; values: Values; errors: Errors },
): ClientForm {
  const methods = [...desk.oauth.owners('clientAuthentication').keys(), 'none']
  return {
    ...desk.target(call, path, subject),
    groups: groupsOf(values, errors, methods),
    error: Object.keys(errors).length === 0 ? null : (errors[FORM] ?? 'Please look at the marked fields.'),
  }
}

/** What `work` gives, or what is wrong with what was typed; nothing is done while something is. */
export async function attempt<T extends object>(
  values: Values,
  work: () => Promise<T>,
): Promise<T | { errors: Errors }> {
  const errors = wrongLines(values)
  if (Object.keys(errors).length > 0) return { errors }
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof OAuthError) || error.status !== 400) throw error
    const [, field = '', reason = ''] = /^(\w+) (.+)$/s.exec(error.message) ?? []
    return { errors: isField(field) ? { [field]: sentence(reason) } : { [FORM]: sentence(error.message) } }
  }
}
