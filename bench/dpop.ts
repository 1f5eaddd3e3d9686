// Owns proofs of possession (RFC 9449): of one key, as an app has it, and each good once.

import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import type { Row } from './contestant.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const header = encode({ alg: 'ES256', typ: 'dpop+jwt', jwk: publicKey.export({ format: 'jwk' }) })

/** For a POST to this address, now. */
export function prove(htu: string): string {
  const iat = Math.floor(Date.now() / 1000)
  const signed = `${header}.${encode({ jti: randomUUID(), htm: 'POST', htu, iat })}`
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** Tokens that a client gets for itself, each request with a proof of its own. */
export function boundTokenRow(common: Pick<Row, 'label' | 'baseline'>, port: number, body: string): Row {
  const htu = `http://127.0.0.1:${port}/token`
  return {
    ...common,
    endpoint: 'client_credentials_with_dpop',
    format: 'jwt',
    path: '/token',
    order: 'once',
    requests: async (count) => Array.from({ length: count }, () => ({ body, dpop: prove(htu) })),
    expectation: { tokens: ['access_token'], values: { token_type: 'DPoP' } },
  }
}
