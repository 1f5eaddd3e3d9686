/** What an app is configured with: the lines of a `.env` file, and the first lines of code for `openid-client`. */
import type { ClientInformation } from '../../../src/protocol/client-metadata.ts'
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
  const code = (client.response_types ?? []).includes('code')
  const snippet = [...discovery(issuer, proof), '', ...(code ? signIn(client) : getToken())]
  return { env: env.join('\n'), snippet: snippet.join('\n') }
}

/** A value with anything but plain characters would be read as something else. */
function quoted(value: string): string {
  if (/^[\w.:/?&=%+~@-]*$/.test(value)) return value
  return value.includes("'") ? `"${value}"` : `'${value}'`
}

function discovery(issuer: string, { imports, before, metadata, authentication, options }: Proof): string[] {
  const execute = issuer.startsWith('http:') ? ['execute: [client.allowInsecureRequests]'] : []
  const given = [...execute, ...options]
  const ofHttp = given.length === 1 && execute.length === 1 ? ' // the issuer is http' : ''
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
    ...(given.length === 0 ? [] : [`  { ${given.join(', ')} },${ofHttp}`]),
    ')',
  ]
}

function signIn({ scope = [] }: ClientInformation): string[] {
  const scopes = [...new Set(['openid', 'profile', ...scope])].join(' ')
  return [
    'const codeVerifier = client.randomPKCECodeVerifier() // keep it in the session',
    'const url = client.buildAuthorizationUrl(config, {',
    '  redirect_uri: env.OIDC_REDIRECT_URI,',
    `  scope: ${scopes.includes("'") ? JSON.stringify(scopes) : `'${scopes}'`},`,
    '  code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),',
    `  code_challenge_method: 'S256',`,
    '})',
    '// Redirect to url. At the redirect URI, with the address that came as currentUrl:',
    '// const tokens = await client.authorizationCodeGrant(config, currentUrl, { pkceCodeVerifier: codeVerifier })',
  ]
}

function getToken(): string[] {
  return ['const tokens = await client.clientCredentialsGrant(config)', 'console.log(tokens.access_token)']
}
