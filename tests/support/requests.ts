/**
 * Requests to the server of a test, as a client makes them: redirects are not followed, paths are relative to
 * the issuer.
 */
export type Form = Record<string, string> | [string, string][]

export interface Requests {
  get(path: string, headers?: Record<string, string>): Promise<Response>
  /** As application/x-www-form-urlencoded; pairs allow a repeated parameter. */
  post(path: string, form?: Form, headers?: Record<string, string>): Promise<Response>
  /** Any other request. */
  request(path: string, init?: RequestInit): Promise<Response>
}

export function requestsTo(issuer: string): Requests {
  const request = (path: string, init: RequestInit = {}) => {
    const url = URL.canParse(path) ? path : `${issuer}${path}`
    return fetch(url, { redirect: 'manual', ...init })
  }
  return {
    request,
    get: (path, headers = {}) => request(path, { headers }),
    post: (path, form = {}, headers = {}) =>
      request(path, { method: 'POST', body: new URLSearchParams(form), headers }),
  }
}

/** The Authorization header of client_secret_basic (RFC 6749 §2.3.1: both parts are form-encoded first). */
export function basic(clientId: string, clientSecret: string): { authorization: string } {
  const credentials = Buffer.from(`${formEncode(clientId)}:${formEncode(clientSecret)}`).toString('base64')
  return { authorization: `Basic ${credentials}` }
}

function formEncode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}

/** The Authorization header of RFC 6750 §2.1. */
export function bearer(token: string): { authorization: string } {
  return { authorization: `Bearer ${token}` }
}
