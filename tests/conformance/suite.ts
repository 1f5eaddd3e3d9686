/** What every check works with: a server of the kind that is certified, its clients, and a person with every claim. */
import { randomBytes } from 'node:crypto'
import * as oauth from 'oauth4webapi'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { startServer, type TestServer } from '../support/server.ts'
import type { Settings } from '../support/settings.ts'

export interface Suite {
  readonly server: TestServer
  /** As `oauth4webapi` read and judged it. */
  readonly metadata: oauth.AuthorizationServer
  /** How answers of /authorize have to travel. */
  readonly responseMode: 'query' | 'fragment' | 'form_post'
  /** What is asked for. */
  readonly responseType: string
  /** Where the suite itself is asked and told. */
  readonly host: Receiver
  /** What it answers where it is asked for these, by their addresses. */
  readonly documents: Map<string, string>
}

export interface SuiteClient extends oauth.Client {
  readonly client_id: string
  readonly client_secret: string
}

/** The server of a test has no TLS. */
export const insecure = { [oauth.allowInsecureRequests]: true } as const

export const CALLBACK = 'https://suite.example/test/a/latchkey/callback'
export const LOGGED_OUT = 'https://suite.example/test/a/latchkey/post_logout_redirect'

/** Of the implicit and the hybrid plan. */
const OTHER_TYPES = ['id_token', 'id_token token', 'code id_token', 'code token', 'code id_token token']

/** Certification warns of what userinfo has and the ID token tells too, so they leave it to userinfo. */
const registration = {
  redirect_uris: [CALLBACK],
  post_logout_redirect_uris: [LOGGED_OUT],
  id_token_include_claims: false,
}
const secret = (): string => randomBytes(32).toString('base64url')
export const FIRST = { ...registration, client_id: 'certified-1', client_secret: secret() }
export const SECOND = { ...registration, client_id: 'certified-2', client_secret: secret() }

/** Every claim of OpenID Connect Core §5.1 but those that the server knows by itself. */
export const CLAIMS = {
  name: 'Paula Example',
  given_name: 'Paula',
  family_name: 'Example',
  middle_name: 'Quinn',
  nickname: 'Paulie',
  profile: 'https://paula.example/profile',
  picture: 'https://paula.example/picture.png',
  website: 'https://paula.example/',
  gender: 'female',
  birthdate: '1981-02-03',
  zoneinfo: 'Europe/Vienna',
  locale: 'de-AT',
  email: 'paula@example.com',
  email_verified: true,
  address: {
    formatted: '1 Main Street\n1010 Vienna',
    street_address: '1 Main Street',
    locality: 'Vienna',
    region: 'Vienna',
    postal_code: '1010',
    country: 'AT',
  },
  phone_number: '+43 1 555 0100',
  phone_number_verified: true,
}
export const PERSON = { ...CLAIMS, username: 'paula', password: 'correct horse battery staple' }
export const SOMEBODY_ELSE = { username: 'otto', password: 'another long password', name: 'Otto Else' }

export async function startSuite(
  responseMode: Suite['responseMode'] = 'query',
  settings: Settings = {},
): Promise<Suite> {
  return startWith({ responseMode, responseType: 'code' }, settings)
}

/** Of the implicit and the hybrid plan: the same server and people, asked for each of the types. */
export async function startSuites<Type extends string>(
  responseTypes: readonly Type[],
  responseMode: Suite['responseMode'] = 'fragment',
): Promise<Record<Type, Suite>> {
  const first = await startWith({ responseMode, responseType: '' }, { OIDC_IMPLICIT: 'true' }, OTHER_TYPES)
  const suites = responseTypes.map((responseType) => [responseType, { ...first, responseType }])
  return Object.fromEntries(suites) as Record<Type, Suite>
}

/** Where the suite registers its clients itself: it registers some in each module, all from one address. */
export async function startDynamicSuite(): Promise<Suite> {
  return startWith(
    { responseMode: 'query', responseType: 'code' },
    { OIDC_REGISTRATION: 'open', OIDC_REGISTRATION_AT_ONCE: 1000, OIDC_IMPLICIT: 'true' },
  )
}

async function startWith(
  asked: Pick<Suite, 'responseMode' | 'responseType'>,
  settings: Settings = {},
  types: readonly string[] = ['code'],
): Promise<Suite> {
  const clients = [FIRST, SECOND].map((client) => ({ ...client, response_types: types }))
  const documents = new Map<string, string>()
  const host = await startReceiver(({ url }, response) =>
    response
      .writeHead(200, { 'cache-control': 'no-store' })
      .end(documents.get(`http://127.0.0.1:${host.port}${url}`)),
  )
  const server = await startServer(
    { UNSAFE_OUTBOUND_ORIGINS: `http://127.0.0.1:${host.port}`, ...settings },
    { seed: { users: [PERSON, SOMEBODY_ELSE], clients } },
  )
  const issuer = new URL(server.url)
  const metadata = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, insecure),
  )
  return { server, metadata, host, documents, ...asked }
}
