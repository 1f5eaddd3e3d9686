/** What FAPI clients send by the back channel, with all that proves who they are and what they hold, and how errors there look. */
import { expect } from 'vitest'
import { asPem } from '../../support/certificates.ts'
import { assertionOf, ASSERTION_TYPE, type AssertionKey } from '../../support/client-assertions.ts'
import { prove, type DpopKey, type ProofOptions } from '../../support/dpop.ts'
import { API, type FapiClient, type FapiSuite } from './suite.ts'

/** What goes with a request beside itself; by default all that it needs, by the first client. */
export interface How {
  readonly client?: FapiClient
  /** Null: none. */
  readonly assertion?: { claims?: object; header?: object; by?: AssertionKey } | null
  readonly certificate?: FapiClient['certificate'] | null
  /** At the token endpoint and at the API; where a request is pushed only if it is said. Null: none. */
  readonly proof?: (Partial<ProofOptions> & { by?: DpopKey }) | null
}

/** A suite asks slowly; ours asks from an address of its own each time, since who fails too often is asked to wait. */
let asked = 0
const from = (): Record<string, string> => ({ 'x-forwarded-for': `198.51.100.${(asked += 1) % 250}` })

/** The certificate that a proxy before the server hands on. */
function shown({ authentication, constraint, first }: FapiSuite, { client = first, certificate }: How) {
  if (certificate === null || (authentication !== 'mtls' && constraint !== 'mtls')) return {}
  return { 'client-cert': asPem(certificate ?? client.certificate) }
}

/** A form by the back channel. */
export async function send(
  suite: FapiSuite,
  path: '/par' | '/token',
  form: Readonly<Record<string, string>>,
  how: How = {},
): Promise<Response> {
  const { client = suite.first, assertion, proof = path === '/token' ? {} : null } = how
  const signed =
    suite.authentication === 'mtls' || assertion === null
      ? {}
      : {
          client_assertion_type: ASSERTION_TYPE,
          client_assertion: await assertionOf(
            assertion?.by ?? client.key,
            client.client_id,
            suite.metadata.issuer,
            assertion?.claims,
            assertion?.header,
          ),
        }
  const dpop = await proofFor(suite, { method: 'POST', url: `${suite.server.url}${path}` }, client, proof)
  const headers = { ...from(), ...shown(suite, how), ...dpop }
  return suite.server.post(path, { client_id: client.client_id, ...form, ...signed }, headers)
}

async function proofFor(
  { constraint }: FapiSuite,
  usual: ProofOptions,
  { dpopKey }: FapiClient,
  proof: NonNullable<How['proof']> | null,
): Promise<Record<string, string>> {
  if (constraint !== 'dpop' || proof === null) return {}
  const { by = dpopKey, ...made } = proof
  return { dpop: await prove(by, { ...usual, ...made }) }
}

/** What the API, or userinfo, says to a token. */
export async function use(
  suite: FapiSuite,
  token: string,
  { scheme, path = API, query = '', headers = {}, ...how }: How & Used = {},
): Promise<Response> {
  const { client = suite.first, proof = {} } = how
  const usual = { method: 'GET', url: `${suite.server.url}${path}`, token }
  const dpop = await proofFor(suite, usual, client, proof)
  const authorization = `${scheme ?? (suite.constraint === 'dpop' ? 'DPoP' : 'Bearer')} ${token}`
  return suite.server.get(`${path}${query}`, { authorization, ...shown(suite, how), ...dpop, ...headers })
}

interface Used {
  scheme?: string
  path?: string
  query?: string
  headers?: Record<string, string>
}

/** That an answer of the back channel is this error, and says no more than RFC 6749 §5.2 allows. */
export async function expectError(
  response: Response,
  status: number,
  ...errors: readonly string[]
): Promise<void> {
  const { error, error_description: description, ...more } = (await response.json()) as Record<string, string>
  expect({ status: response.status, error, description }).toMatchObject({ status })
  expect(errors).toContain(error)
  expect(description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
  expect(more).toEqual({})
}
