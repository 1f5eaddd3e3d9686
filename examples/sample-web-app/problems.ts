/** What goes wrong on the way, in words for the person in front of it. */
import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client'

/** A failure that is said on a page. */
export interface Problem {
  status: number
  title: string
  text: string
  /** The OAuth error code, and what the server said about it. */
  code?: string | undefined
  details?: string | undefined
  /** What the app holds of the user is good for nothing any more. */
  endsSignIn?: true
  /** It may be: signing in once more helps in any case. */
  asksSignIn?: true
}

const AWAY: Problem = {
  status: 502,
  title: 'The server cannot be reached',
  text: 'The app asked the authorization server and got no answer that it could use. Is it running?',
}

export const NOT_SIGNED_IN: Problem = {
  status: 401,
  title: 'You are not signed in',
  text: 'This page is for those who are. Sign in, and come back.',
}
export const NO_SIGN_IN_BEGUN: Problem = {
  status: 400,
  title: 'This sign-in is not one that began here',
  text: 'It was finished already, or begun in another browser, or the app was restarted in between. Begin again.',
}
export const NOT_FROM_HERE: Problem = {
  status: 403,
  title: 'This did not come from a page of ours',
  text: 'Go back to the app and use the buttons there.',
}
export const NOTHING_HERE: Problem = {
  status: 404,
  title: 'There is nothing here',
  text: 'The address leads to no page of this app.',
}

/** Undefined for what is our own fault. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof AuthorizationResponseError) return refusedAtServer(error)
  if (error instanceof WWWAuthenticateChallengeError) return refusedByApi(error)
  // `fetch` throws a TypeError for whatever keeps it from an answer.
  if (error instanceof TypeError || isNoAnswer(error)) return AWAY
  if (error instanceof ResponseBodyError)
    return {
      status: 400,
      endsSignIn: true,
      title: 'The server gave no tokens',
      text: 'What the app holds is not good any more: it was used, has expired or was taken back. Sign in again.',
      code: error.error,
      details: error.error_description,
    }
  if (error instanceof ClientError)
    return {
      status: 400,
      title: 'The answer does not fit',
      text: 'The app checked what came back, as it must, and something did not fit. Begin again.',
      code: error.code,
      details: error.message,
    }
  return undefined
}

/** A server that is there and does not serve, or too slowly. */
function isNoAnswer(error: unknown): boolean {
  if (error instanceof ResponseBodyError) return error.status >= 500
  const code = error instanceof ClientError ? error.code : undefined
  return code === 'OAUTH_RESPONSE_IS_NOT_CONFORM' || code === 'OAUTH_TIMEOUT'
}

function refusedAtServer({ error: code, error_description: details }: AuthorizationResponseError): Problem {
  return code === 'access_denied'
    ? {
        status: 403,
        title: 'You did not allow it',
        text: 'The app learned nothing about you but that. You can try again and decide otherwise.',
        code,
        details,
      }
    : {
        status: 400,
        title: 'The server refused the sign-in',
        text: 'It sent you back with an error instead of a code.',
        code,
        details,
      }
}

function refusedByApi({ status, cause }: WWWAuthenticateChallengeError): Problem {
  const { error: code, error_description: details } = cause[0]?.parameters ?? {}
  return status === 403
    ? {
        status,
        title: 'The token may not do this',
        text: 'It lacks a scope that the API asks for.',
        code,
        details,
      }
    : {
        status,
        asksSignIn: true,
        title: 'The API does not take the token',
        text: 'It has expired or was taken back. Refresh the tokens, or sign in again.',
        code,
        details,
      }
}
