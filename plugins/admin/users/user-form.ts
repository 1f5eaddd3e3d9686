/** A form about a user that was sent: what comes of it, or what is wrong with it and where. */
import { OAuthError } from '../../../src/protocol/errors.ts'
import { message, type Words } from '../../../src/protocol/message.ts'
import { problemsIn } from '../../pages/words.ts'
import { fieldOf, type Errors } from './user-fields.ts'

/** The key of an error that belongs to no field. */
export const FORM = ''
/** Of all that is known of a user. */
const TOO_LONG = message('This is too long, taken together. Shorten something.')

/** What `work` gives; what it refuses is an error at a field, or of the form. */
export async function attempt<T extends object>(work: () => Promise<T>): Promise<T | { errors: Errors }> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof OAuthError) || error.status !== 400) throw error
    if (error.about?.member === 'claims') return { errors: { [FORM]: TOO_LONG } }
    return { errors: problemsIn(error, fieldOf, FORM) }
  }
}

/** What stands above the form; null where nothing is wrong. */
export function summaryOf(errors: Errors): Words | null {
  if (Object.keys(errors).length === 0) return null
  return errors[FORM] ?? message('Please look at the marked fields.')
}
