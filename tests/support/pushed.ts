/** Requests that a client pushes (RFC 9126), and the address that its user is sent to with one. */
import { basic, type Requests } from './requests.ts'
import { REDIRECT_URI, WEB } from './sign-in.ts'

export interface Told {
  readonly status: number
  readonly request_uri: string
  readonly expires_in?: number
  readonly error?: string
}

/** Of nobody: with PKCE, as it must be. */
export const PUBLIC = {
  client_id: 'public',
  token_endpoint_auth_method: 'none',
  redirect_uris: [REDIRECT_URI],
}
export const ASKED = { redirect_uri: REDIRECT_URI, response_type: 'code', scope: 'openid', state: 'pushed' }

/** As a client with the secret of `WEB`, or as one without; undefined takes a parameter away. */
export async function push(
  server: Requests,
  more: Readonly<Record<string, string | undefined>> = {},
  id: string = WEB.client_id,
): Promise<Told> {
  const isPublic = id === PUBLIC.client_id
  const all = { ...ASKED, ...(isPublic ? { client_id: id } : {}), ...more }
  const form = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined)
  const response = await server.post('/par', form, isPublic ? {} : basic(id, WEB.client_secret))
  return { ...((await response.json()) as Omit<Told, 'status'>), status: response.status }
}

/** Where the browser is sent. */
export function addressWith({ request_uri }: Pick<Told, 'request_uri'>, id: string = WEB.client_id): string {
  return `/authorize?${new URLSearchParams({ client_id: id, request_uri }).toString()}`
}
