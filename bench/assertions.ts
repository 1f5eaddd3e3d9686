// Owns client assertions (RFC 7523): of one key, as a service has it, and each good once.

import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import type { Row } from './contestant.ts'
import { form } from './requests.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const header = encode({ alg: 'ES256', kid: 'bench' })

/** As a client registers it. */
export const jwks = {
  keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'bench', alg: 'ES256', use: 'sig' }],
}

/** That its sender is this client, for a minute from now. */
function assertThat(clientId: string, aud: string): string {
  const iat = Math.floor(Date.now() / 1000)
  const claims = { iss: clientId, sub: clientId, aud, jti: randomUUID(), iat, exp: iat + 60 }
  const signed = `${header}.${encode(claims)}`
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** Tokens that a client gets for itself by private_key_jwt, each request with an assertion of its own. */
export function assertedTokenRow(
  common: Pick<Row, 'label' | 'baseline'>,
  port: number,
  clientId: string,
  scope: string,
): Row {
  const body = () =>
    form({
      grant_type: 'client_credentials',
      scope,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertThat(clientId, `http://127.0.0.1:${port}`),
    })
  return {
    ...common,
    endpoint: 'client_credentials_with_private_key_jwt',
    format: 'jwt',
    path: '/token',
    order: 'once',
    requests: async (count) => Array.from({ length: count }, () => ({ body: body() })),
    expectation: { tokens: ['access_token'] },
  }
}
