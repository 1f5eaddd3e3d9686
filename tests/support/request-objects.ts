/** Request objects (RFC 9101) as clients make them, and the apps that send them. */
import { SignJWT } from 'jose'
import { type AssertionKey, inSeconds } from './client-assertions.ts'
import { REDIRECT_URI, WEB } from './sign-in.ts'

export const INSIDE = { redirect_uri: REDIRECT_URI, response_type: 'code', scope: 'openid', state: 'inside' }

/** A web app with a key that signs its requests. */
export const signingApp = (client_id: string, key: { jwk: object }, more: object = {}) => ({
  ...WEB,
  client_id,
  jwks: { keys: [key.jwk] },
  ...more,
})

/** What is laid over the usual claims or header takes away what it has as undefined. */
export async function requestObject(
  { alg, kid, privateKey }: AssertionKey,
  clientId: string,
  aud: string,
  claims: object = {},
  header: object = {},
): Promise<string> {
  const usual = { iss: clientId, aud, exp: inSeconds(300), nbf: inSeconds(0), client_id: clientId, ...INSIDE }
  const all = JSON.parse(JSON.stringify({ ...usual, ...claims })) as Record<string, unknown>
  return new SignJWT(all)
    .setProtectedHeader({ alg, ...(kid === undefined ? {} : { kid }), typ: 'oauth-authz-req+jwt', ...header })
    .sign(privateKey)
}

/** Where the browser goes with it, and with what stands beside it. */
export function addressOf(clientId: string, parameters: Readonly<Record<string, string>>): string {
  return `/authorize?${new URLSearchParams({ client_id: clientId, ...parameters }).toString()}`
}
