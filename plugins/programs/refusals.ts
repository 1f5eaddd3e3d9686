/** What interfaces for programs refuse in the same words. */
import { isAbout, OAuthError } from '../../src/protocol/errors.ts'

/** For what an address names: `what` follows “there is no”. */
export function notFound(what: string): OAuthError {
  return new OAuthError('not_found', `there is no ${what} here`, { status: 404 })
}

/** Of what others change again and again while it is to be changed. */
export function busy(what: string): OAuthError {
  return new OAuthError('temporarily_unavailable', `${what} is being changed by others; try again`)
}

/** What is to be told of a failure: what is not there any more is not there, in whatever words its registry says that. */
export async function orGone(error: unknown, find: () => Promise<unknown>): Promise<unknown> {
  if (!(error instanceof OAuthError) || error.status >= 500) return error
  return find().then(
    () => error,
    (missing: unknown) => (missing instanceof OAuthError && missing.status === 404 ? missing : error),
  )
}

/** What was refused since there is one of this name already is told by its status too, as programs go on there. */
export async function orConflict<T>(
  work: Promise<T>,
  member: string,
  isTaken: () => Promise<boolean>,
): Promise<T> {
  return work.catch(async (error: unknown) => {
    if (!isAbout(error, member) || !(await isTaken())) throw error
    const { message, about, also, cause } = error
    throw new OAuthError('conflict', message, { status: 409, about, cause, ...(also && { also }) })
  })
}
