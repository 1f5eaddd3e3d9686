/** What an app is configured with: the lines of a `.env` file, and the first lines of code for `openid-client`. */
import type { ClientInformation } from '../../../src/protocol/client-metadata.ts'
import { CIBA, DEVICE_CODE } from '../../../src/services/clients/client-kinds.ts'
import { type Proof, proofOf } from './app-proofs.ts'
import type { AppSettings } from './client-models.ts'

/** `secret` only on the page that shows it. */
export function appSettings(issuer: string, client: ClientInformation, secret?: string): AppSettings {
  const proof = proofOf(client, secret)
  const [redirectUri] = client.redirect_uris ?? []
  const env = [
    `OIDC_ISSUER=${issuer}`,
    `OIDC_DISCOVERY_URL=${issuer}/.well-known/openid-configuration`,
    `OIDC_CLIENT_ID=${quoted(client.client_id ?? '')}`,
    ...proof.env,
    ...(redirectUri === undefined ? [] : [`OIDC_REDIRECT_URI=${quoted(redirectUri)}`]),
  ]
  const use = firstUse(client)
  const snippet = [...discovery(issuer, proof), ...(use.length === 0 ? [] : ['', ...use])]
  return { env: env.join('\n'), snippet: snippet.join('\n') }
}

/** A value with anything but plain characters would be read as something else. */
function quoted(value: string): string {
  if (/^[\w.:/?&=%+~@-]*$/.test(value)) return value
  return value.includes("'") ? `"${value}"` : `'${value}'`
}

function discovery(issuer: string, { imports, before, metadata, authentication, options }: Proof): string[] {
  const execute = issuer.startsWith('http:')
    ? ['execute: [client.allowInsecureRequests], // the issuer is http']
    : []
  const given = [...execute, ...options]
  return [
    ...imports,
    `import * as client from 'openid-client'`,
    '',
    'const { env } = process',
    ...before,
    'const config = await client.discovery(',
    '  new URL(env.OIDC_ISSUER),',
    '  env.OIDC_CLIENT_ID,',
    `  ${metadata},`,
    `  ${authentication},`,
    ...(given.length === 0 ? [] : ['  {', ...given.map((line) => `    ${line}`), '  },']),
    ')',
  ]
}

/** By a grant that it is registered for; nothing where it begins with what somebody else has given it. */
function firstUse(client: ClientInformation): string[] {
  const { response_types: responses = [], grant_types: grants = [] } = client
  if (responses.includes('code')) return signIn(client)
  if (grants.includes(DEVICE_CODE)) return byDevice(client)
  if (grants.includes(CIBA)) return byMessage(client)
  return grants.includes('client_credentials') ? getToken() : []
}

function scopesOf({ scope = [] }: ClientInformation, ...first: string[]): string {
  const scopes = [...new Set([...first, ...scope])].join(' ')
  return scopes.includes("'") ? JSON.stringify(scopes) : `'${scopes}'`
}

function signIn(client: ClientInformation): string[] {
  return [
    'const codeVerifier = client.randomPKCECodeVerifier() // keep it in the session',
    'const url = client.buildAuthorizationUrl(config, {',
    '  redirect_uri: env.OIDC_REDIRECT_URI,',
    `  scope: ${scopesOf(client, 'openid', 'profile')},`,
    '  code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),',
    `  code_challenge_method: 'S256',`,
    '})',
    '// Redirect to url. At the redirect URI, by the address that was opened:',
    '// const tokens = await client.authorizationCodeGrant(config, currentUrl, {',
    '//   pkceCodeVerifier: codeVerifier,',
    '// })',
  ]
}

/** RFC 8628. */
function byDevice(client: ClientInformation): string[] {
  return [
    'const asked = await client.initiateDeviceAuthorization(config, {',
    `  scope: ${scopesOf(client, 'openid')},`,
    '})',
    'console.log(`Open ${asked.verification_uri} and enter ${asked.user_code}`)',
    'const tokens = await client.pollDeviceAuthorizationGrant(config, asked)',
    'console.log(tokens.access_token)',
  ]
}

/** Client-Initiated Backchannel Authentication. */
function byMessage(client: ClientInformation): string[] {
  return [
    'const asked = await client.initiateBackchannelAuthentication(config, {',
    `  scope: ${scopesOf(client, 'openid')},`,
    `  login_hint: 'alice@example.com', // whom it asks`,
    '})',
    'const tokens = await client.pollBackchannelAuthenticationGrant(config, asked)',
    'console.log(tokens.access_token)',
  ]
}

function getToken(): string[] {
  return ['const tokens = await client.clientCredentialsGrant(config)', 'console.log(tokens.access_token)']
}
