/** Others whose JWTs are good here: issuers with a key set at an address, and what they say. */
import { randomUUID } from 'node:crypto'
import type { JWK } from 'jose'
import { assertionOf, type AssertionKey, createAssertionKey, inSeconds } from './client-assertions.ts'
import { answer, type Answer } from './device.ts'
import { startReceiver } from './receiver.ts'
import { basic, type Requests } from './requests.ts'
import { ALICE, BOB, SEED } from './sign-in.ts'

export const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
export const SHELF = 'https://shelf.example'
export const CAROL = { username: 'carol', password: 'a third long password', email: 'carol@example.com', email_verified: true, roles: ['admin'] } // prettier-ignore

const app = (client_id: string, scope: string[]) => ({
  client_id,
  client_secret: `lks_${client_id.padEnd(43, 'x')}`,
  grant_types: [GRANT],
  scope,
})
export const APP = app('app', ['read_books', 'read_shelf'])
export const FEW = app('few', ['read_books'])
/** Of the clients that an issuer names, none. */
export const RIVAL = app('rival', ['read_books', 'read_shelf'])
export const PLAIN = { ...app('plain', ['read_books']), grant_types: ['client_credentials'] }

export const JAG_SEED = {
  ...SEED,
  users: [ALICE, BOB, CAROL],
  clients: [...SEED.clients, APP, FEW, RIVAL, PLAIN],
  resources: [{ resource: SHELF, scopes: ['read_shelf'] }],
}

export interface Issuer {
  issuer: string
  origin: string
  /** From now on its key set has this. */
  publish(...keys: JWK[]): void
  /** How often its key set was asked for. */
  asked(): number
}

/** Its key set can be changed, and is not kept by anybody. */
export async function startIssuer(...keys: JWK[]): Promise<Issuer> {
  let published = keys
  const receiver = await startReceiver((_request, response) =>
    response
      .writeHead(200, { 'content-type': 'application/json', 'cache-control': 'max-age=3600' })
      .end(JSON.stringify({ keys: published })),
  )
  const origin = `http://127.0.0.1:${receiver.port}`
  return {
    issuer: origin,
    origin,
    publish: (...next) => void (published = next),
    asked: () => receiver.received.length,
  }
}

/** What an issuer says of somebody; `claims` and `header` are laid over the usual. */
export async function said(
  key: AssertionKey,
  issuer: string,
  aud: string,
  claims: object = {},
  header: object = {},
): Promise<string> {
  const usual = { sub: 'alice', email: 'alice@example.com', iat: inSeconds(0), jti: randomUUID() }
  return assertionOf(key, issuer, aud, { ...usual, ...claims }, header)
}

export async function bring(
  server: Requests,
  by: { client_id: string; client_secret: string },
  assertion: string,
  more: Record<string, string> = {},
): Promise<Answer> {
  const form = { grant_type: GRANT, assertion, ...more }
  return answer(server.post('/token', form, basic(by.client_id, by.client_secret)))
}

export { createAssertionKey, inSeconds }
